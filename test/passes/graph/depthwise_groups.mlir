// RUN: legato-opt %s --relax-depthwise-groups | filecheck %s

// Four groups of three channels and one feature: twelve depthwise channels, whose sums are the features.
// CHECK-LABEL: func.func @single(
// CHECK: %[[W:.*]] = "relax.reshape"(%arg1) {{.*}} : (tensor<4x3x3x3xf32>) -> tensor<12x1x3x3xf32>
// CHECK: %[[P:.*]] = "relax.conv2d"(%arg0, %[[W]]) {groups = 12 : i64, padding = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}
// CHECK: %[[R:.*]] = "relax.reshape"(%[[P]]) {{.*}} -> tensor<?x4x3x5x5xf32, #relax.dims<["n", 4, 3, 5, 5]>>
// CHECK: %[[S:.*]] = "relax.sum"(%[[R]]) {axis = array<i64: 2>}
// CHECK: return %[[S]]
func.func @single(%x: tensor<?x12x9x9xf32, #relax.dims<["n", 12, 9, 9]>>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x5x5xf32, #relax.dims<["n", 4, 5, 5]>> {
  %0 = "relax.conv2d"(%x, %w) {groups = 4 : i64, padding = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}
    : (tensor<?x12x9x9xf32, #relax.dims<["n", 12, 9, 9]>>, tensor<4x3x3x3xf32>) -> tensor<?x4x5x5xf32, #relax.dims<["n", 4, 5, 5]>>
  return %0 : tensor<?x4x5x5xf32, #relax.dims<["n", 4, 5, 5]>>
}

// Depthwise ones stay, and those of several features a group, of one group, of many channels, of one tap, and of halves, whose sums would be
// rounded.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: relax.sum
func.func @others(%x: tensor<1x12x9xf32>, %v: tensor<12x1x3xf32>, %w: tensor<8x3x3xf32>, %y: tensor<1x40x9xf32>, %z: tensor<2x20x3xf32>,
                  %h: tensor<1x12x9xf16>, %g: tensor<4x3x3xf16>, %u: tensor<1x12x3xf32>,
                  %t: tensor<4x3x1xf32>)
    -> (tensor<1x12x7xf32>, tensor<1x8x7xf32>, tensor<1x2x7xf32>, tensor<1x4x7xf16>, tensor<1x1x7xf32>, tensor<1x4x9xf32>) {
  %0 = "relax.conv1d"(%x, %v) {groups = 12 : i64} : (tensor<1x12x9xf32>, tensor<12x1x3xf32>) -> tensor<1x12x7xf32>
  %1 = "relax.conv1d"(%x, %w) {groups = 4 : i64} : (tensor<1x12x9xf32>, tensor<8x3x3xf32>) -> tensor<1x8x7xf32>
  %2 = "relax.conv1d"(%y, %z) {groups = 2 : i64} : (tensor<1x40x9xf32>, tensor<2x20x3xf32>) -> tensor<1x2x7xf32>
  %3 = "relax.conv1d"(%h, %g) {groups = 4 : i64} : (tensor<1x12x9xf16>, tensor<4x3x3xf16>) -> tensor<1x4x7xf16>
  %4 = "relax.conv1d"(%x, %u) : (tensor<1x12x9xf32>, tensor<1x12x3xf32>) -> tensor<1x1x7xf32>
  %5 = "relax.conv1d"(%x, %t) {groups = 4 : i64} : (tensor<1x12x9xf32>, tensor<4x3x1xf32>) -> tensor<1x4x9xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<1x12x7xf32>, tensor<1x8x7xf32>, tensor<1x2x7xf32>, tensor<1x4x7xf16>, tensor<1x1x7xf32>, tensor<1x4x9xf32>
}

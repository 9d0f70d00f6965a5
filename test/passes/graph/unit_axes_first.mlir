// RUN: legato-opt %s --relax-unit-axes-first | filecheck %s

// A sequence along the height becomes one along the width; strides, padding and taps go with it.
// CHECK-LABEL: func.func @sequence(
// CHECK: %[[X:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<?x8x1x512xf32, #relax.dims<["n", 8, 1, 512]>>
// CHECK: %[[W:.*]] = "relax.reshape"(%arg1) {{.*}} -> tensor<16x8x1x5xf32>
// CHECK: %[[Y:.*]] = "relax.conv2d"(%[[X]], %[[W]]) {dilations = array<i64: 1, 3>, padding = array<i64: 0, 4, 0, 2>, strides = array<i64: 1, 2>} : {{.*}} -> tensor<?x16x1x253xf32, {{.*}}>
// CHECK: %[[R:.*]] = "relax.reshape"(%[[Y]]) {{.*}} -> tensor<?x16x253x1xf32, {{.*}}>
// CHECK: return %[[R]]
func.func @sequence(%x: tensor<?x8x512x1xf32, #relax.dims<["n", 8, 512, 1]>>, %w: tensor<16x8x5x1xf32>) -> tensor<?x16x253x1xf32, #relax.dims<["n", 16, 253, 1]>> {
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 4, 0, 2, 0>, strides = array<i64: 2, 1>, dilations = array<i64: 3, 1>}
    : (tensor<?x8x512x1xf32, #relax.dims<["n", 8, 512, 1]>>, tensor<16x8x5x1xf32>) -> tensor<?x16x253x1xf32, #relax.dims<["n", 16, 253, 1]>>
  return %0 : tensor<?x16x253x1xf32, #relax.dims<["n", 16, 253, 1]>>
}

// Of a volume, in another layout, and of a pool.
// CHECK-LABEL: func.func @volume(
// CHECK: "relax.reshape"(%arg0) {{.*}} -> tensor<2x1x9x7x4xf32>
// CHECK: "relax.reshape"(%arg1) {{.*}} -> tensor<1x3x3x4x4xf32>
// CHECK: "relax.conv3d"(%{{.*}}, %{{.*}}) {data_layout = "NDHWC", kernel_layout = "DHWIO"} : {{.*}} -> tensor<2x1x7x5x4xf32>
// CHECK: "relax.reshape"(%{{.*}}) {{.*}} -> tensor<2x7x5x1x4xf32>
// CHECK: "relax.max_pool2d"(%{{.*}}) {kernel = array<i64: 1, 3>, padding = array<i64: 0, 1, 0, 1>, strides = array<i64: 1, 2>} : (tensor<2x4x1x35xf32>)
func.func @volume(%x: tensor<2x9x7x1x4xf32>, %w: tensor<3x3x1x4x4xf32>, %y: tensor<2x4x35x1xf32>) -> (tensor<2x7x5x1x4xf32>, tensor<2x4x18x1xf32>) {
  %0 = "relax.conv3d"(%x, %w) {data_layout = "NDHWC", kernel_layout = "DHWIO"} : (tensor<2x9x7x1x4xf32>, tensor<3x3x1x4x4xf32>) -> tensor<2x7x5x1x4xf32>
  %1 = "relax.max_pool2d"(%y) {kernel = array<i64: 3, 1>, padding = array<i64: 1, 0, 1, 0>, strides = array<i64: 2, 1>} : (tensor<2x4x35x1xf32>) -> tensor<2x4x18x1xf32>
  return %0, %1 : tensor<2x7x5x1x4xf32>, tensor<2x4x18x1xf32>
}

// Left alone: images of one row, of one element, and columns that windows pad.
// CHECK-LABEL: func.func @left(
// CHECK-NOT: relax.reshape
// CHECK: return
func.func @left(%x: tensor<1x8x1x64xf32>, %w: tensor<8x8x1x3xf32>, %y: tensor<1x8x1x1xf32>, %v: tensor<8x8x1x1xf32>, %z: tensor<1x8x64x1xf32>, %u: tensor<8x8x3x3xf32>)
    -> (tensor<1x8x1x62xf32>, tensor<1x8x1x1xf32>, tensor<1x8x62x1xf32>) {
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x8x1x64xf32>, tensor<8x8x1x3xf32>) -> tensor<1x8x1x62xf32>
  %1 = "relax.conv2d"(%y, %v) : (tensor<1x8x1x1xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x1x1xf32>
  %2 = "relax.conv2d"(%z, %u) {padding = array<i64: 0, 1, 0, 1>} : (tensor<1x8x64x1xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x62x1xf32>
  return %0, %1, %2 : tensor<1x8x1x62xf32>, tensor<1x8x1x1xf32>, tensor<1x8x62x1xf32>
}

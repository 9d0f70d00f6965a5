// RUN: legato-opt %s --relax-split-pool-axes | filecheck %s

// Columns first, then rows, each with its own padding and dilation.
// CHECK-LABEL: func.func @wide(
// CHECK: %[[A:.*]] = "relax.max_pool2d"(%arg0) {dilations = array<i64: 1, 2>, kernel = array<i64: 1, 4>, layout = "NHWC", padding = array<i64: 0, 1, 0, 3>} : (tensor<1x20x?x8xf32{{.*}}>)
// CHECK: %[[B:.*]] = "relax.max_pool2d"(%[[A]]) {kernel = array<i64: 5, 1>, layout = "NHWC", padding = array<i64: 2, 0, 2, 0>}
// CHECK: return %[[B]]
func.func @wide(%x: tensor<1x20x?x8xf32, #relax.dims<[1, 20, "w", 8]>>) -> tensor<1x20x?x8xf32, #relax.dims<[1, 20, "w - 2", 8]>> {
  %y = "relax.max_pool2d"(%x) {kernel = array<i64: 5, 4>, padding = array<i64: 2, 1, 2, 3>, dilations = array<i64: 1, 2>, layout = "NHWC"}
      : (tensor<1x20x?x8xf32, #relax.dims<[1, 20, "w", 8]>>) -> tensor<1x20x?x8xf32, #relax.dims<[1, 20, "w - 2", 8]>>
  return %y : tensor<1x20x?x8xf32, #relax.dims<[1, 20, "w - 2", 8]>>
}

// Left alone: small windows, windows apart, and planes, of which a kernel keeps the maxima of columns.
// CHECK-LABEL: func.func @left(
// CHECK-COUNT-3: "relax.max_pool2d"(%arg{{[0-9]}})
// CHECK-NOT: relax.max_pool2d
// CHECK: return
func.func @left(%x: tensor<1x20x20x8xf32>, %z: tensor<1x8x20x20xf32>)
    -> (tensor<1x18x18x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x16x16xf32>) {
  %a = "relax.max_pool2d"(%x) {kernel = array<i64: 3, 3>, layout = "NHWC"} : (tensor<1x20x20x8xf32>) -> tensor<1x18x18x8xf32>
  %b = "relax.max_pool2d"(%x) {kernel = array<i64: 5, 5>, strides = array<i64: 2, 2>, layout = "NHWC"}
      : (tensor<1x20x20x8xf32>) -> tensor<1x8x8x8xf32>
  %c = "relax.max_pool2d"(%z) {kernel = array<i64: 5, 5>, layout = "NCHW"} : (tensor<1x8x20x20xf32>) -> tensor<1x8x16x16xf32>
  return %a, %b, %c : tensor<1x18x18x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x16x16xf32>
}

// Slices of volumes are images, in which windows have rows and columns; then those of the depth are along rows of what a slice has. Windows
// of one element are none.
// CHECK-LABEL: func.func @volumes(
// CHECK: %[[SLICES:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<?x9x10x8xf32, #relax.dims<["n * 7", 9, 10, 8]>>
// CHECK: %[[IMAGES:.*]] = "relax.max_pool2d"(%[[SLICES]]) {kernel = array<i64: 3, 2>, layout = "NHWC", padding = array<i64: 1, 0, 1, 1>, strides = array<i64: 2, 1>}
// CHECK: %[[DEPTH:.*]] = "relax.reshape"(%[[IMAGES]]) {{.*}} -> tensor<?x7x50x8xf32, #relax.dims<["n", 7, 50, 8]>>
// CHECK: %[[POOLED:.*]] = "relax.max_pool2d"(%[[DEPTH]]) {dilations = array<i64: 2, 1>, kernel = array<i64: 3, 1>, layout = "NHWC"}
// CHECK: "relax.reshape"(%[[POOLED]]) {{.*}} -> tensor<?x3x5x10x8xf32, #relax.dims<["n", 3, 5, 10, 8]>>
// CHECK: "relax.max_pool2d"(%{{.*}}) {kernel = array<i64: 2, 2>, layout = "NHWC"}
// CHECK-NOT: relax.max_pool2d
// CHECK: "relax.max_pool3d"(%arg2)
// CHECK: return
func.func @volumes(%x: tensor<?x7x9x10x8xf32, #relax.dims<["n", 7, 9, 10, 8]>>, %y: tensor<1x3x4x4x8xf32>, %z: tensor<1x8x4x4x4xf32>)
    -> (tensor<?x3x5x10x8xf32, #relax.dims<["n", 3, 5, 10, 8]>>, tensor<1x3x3x3x8xf32>, tensor<1x8x3x3x3xf32>) {
  %0 = "relax.max_pool3d"(%x) {kernel = array<i64: 3, 3, 2>, strides = array<i64: 1, 2, 1>, dilations = array<i64: 2, 1, 1>, padding = array<i64: 0, 1, 0, 0, 1, 1>, layout = "NDHWC"}
      : (tensor<?x7x9x10x8xf32, #relax.dims<["n", 7, 9, 10, 8]>>) -> tensor<?x3x5x10x8xf32, #relax.dims<["n", 3, 5, 10, 8]>>
  %1 = "relax.max_pool3d"(%y) {kernel = array<i64: 1, 2, 2>, layout = "NDHWC"} : (tensor<1x3x4x4x8xf32>) -> tensor<1x3x3x3x8xf32>
  %2 = "relax.max_pool3d"(%z) {kernel = array<i64: 2, 2, 2>, layout = "NCDHW"} : (tensor<1x8x4x4x4xf32>) -> tensor<1x8x3x3x3xf32>
  return %0, %1, %2 : tensor<?x3x5x10x8xf32, #relax.dims<["n", 3, 5, 10, 8]>>, tensor<1x3x3x3x8xf32>, tensor<1x8x3x3x3xf32>
}

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

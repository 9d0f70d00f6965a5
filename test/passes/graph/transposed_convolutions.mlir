// RUN: legato-opt %s --relax-transposed-convolutions | filecheck %s

// The stride divides the kernel: the four phases are channels of one convolution.
// CHECK-LABEL: @together(
// CHECK: "relax.conv2d"(%{{.*}}, %{{.*}}) : (tensor<1x8x5x5xf32>, tensor<24x8x1x1xf32>) -> tensor<1x24x5x5xf32>
// CHECK-NOT: relax.conv2d
func.func @together(%x: tensor<1x8x5x5xf32>, %w: tensor<8x6x2x2xf32>) -> tensor<1x6x10x10xf32> {
  %y = "relax.conv2d_transpose"(%x, %w) {strides = array<i64: 2, 2>} : (tensor<1x8x5x5xf32>, tensor<8x6x2x2xf32>) -> tensor<1x6x10x10xf32>
  return %y : tensor<1x6x10x10xf32>
}

// Three taps in two phases: one of two taps, one of a single tap. No weight is padded by zeros.
// CHECK-LABEL: @apart(
// CHECK: "relax.conv1d"{{.*}}tensor<6x8x2xf32>
// CHECK: "relax.conv1d"{{.*}}tensor<6x8x1xf32>
// CHECK: tensor.concat dim(2)
func.func @apart(%x: tensor<1x8x?xf32, #relax.dims<[1, 8, "n"]>>, %w: tensor<8x6x3xf32>) -> tensor<1x6x?xf32, #relax.dims<[1, 6, "n * 2 + 1"]>> {
  %y = "relax.conv1d_transpose"(%x, %w) {strides = array<i64: 2>} : (tensor<1x8x?xf32, #relax.dims<[1, 8, "n"]>>, tensor<8x6x3xf32>) -> tensor<1x6x?xf32, #relax.dims<[1, 6, "n * 2 + 1"]>>
  return %y : tensor<1x6x?xf32, #relax.dims<[1, 6, "n * 2 + 1"]>>
}

// A depthwise kernel stays depthwise.
// CHECK-LABEL: @depthwise(
// CHECK-COUNT-4: "relax.conv2d"{{.*}} {groups = 8 : i64{{.*}}tensor<8x1x1x1xf32>
func.func @depthwise(%x: tensor<1x8x5x5xf32>, %w: tensor<8x1x2x2xf32>) -> tensor<1x8x10x10xf32> {
  %y = "relax.conv2d_transpose"(%x, %w) {groups = 8 : i64, strides = array<i64: 2, 2>} : (tensor<1x8x5x5xf32>, tensor<8x1x2x2xf32>) -> tensor<1x8x10x10xf32>
  return %y : tensor<1x8x10x10xf32>
}

// Of five taps and three phases, the first two phases have taps 3 apart, and are channels of one convolution.
// CHECK-LABEL: func.func @some_together
// CHECK: "relax.conv1d"{{.*}} : (tensor<1x8x9xf32>, tensor<12x8x2xf32>) -> tensor<1x12x10xf32>
// CHECK: "relax.conv1d"{{.*}} : (tensor<1x8x9xf32>, tensor<6x8x1xf32>) -> tensor<1x6x10xf32>
// CHECK-NOT: "relax.conv1d"
// CHECK: return
func.func @some_together(%x: tensor<1x8x9xf32>, %w: tensor<8x6x5xf32>) -> tensor<1x6x29xf32> {
  %y = "relax.conv1d_transpose"(%x, %w) {strides = array<i64: 3>} : (tensor<1x8x9xf32>, tensor<8x6x5xf32>) -> tensor<1x6x29xf32>
  return %y : tensor<1x6x29xf32>
}

// With finite weights, its four phases are elementwise: each output is the sum of one product for each tap, on vectors of channels.
// CHECK-LABEL: func.func @depthwise_products(
// CHECK-NOT: relax.conv2d
// CHECK-COUNT-4: "relax.multiply"{{.*}} -> tensor<1x6x2x6x2x8xf32>
// CHECK-NOT: "relax.multiply"
// CHECK: return
func.func @depthwise_products(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x10x10xf32> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<8x1x4x4xf32>} : () -> tensor<8x1x4x4xf32>
  %y = "relax.conv2d_transpose"(%x, %w) {groups = 8 : i64, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x8x5x5xf32>, tensor<8x1x4x4xf32>) -> tensor<1x8x10x10xf32>
  return %y : tensor<1x8x10x10xf32>
}

// Infinite weights are not multiplied by padding.
// CHECK-LABEL: func.func @infinite(
// CHECK: "relax.conv1d"
// CHECK-NOT: "relax.multiply"
// CHECK: return
func.func @infinite(%x: tensor<1x8x5xf32>) -> tensor<1x8x20xf32> {
  %w = "relax.constant"() {value = dense<0x7F800000> : tensor<8x1x8xf32>} : () -> tensor<8x1x8xf32>
  %y = "relax.conv1d_transpose"(%x, %w) {groups = 8 : i64, strides = array<i64: 4>, padding = array<i64: 2, 2>} : (tensor<1x8x5xf32>, tensor<8x1x8xf32>) -> tensor<1x8x20xf32>
  return %y : tensor<1x8x20xf32>
}

// Padding is counted in outputs: 16 of them are no quotient of the input.
// CHECK-LABEL: func.func @wide_padding(
// CHECK-NOT: relax.conv1d_transpose
// CHECK: "relax.conv1d"{{.*}} : (tensor<1x2x8xf32>, tensor<96x2x2xf32>)
// CHECK-NOT: relax.conv1d_transpose
// CHECK: return
func.func @wide_padding(%x: tensor<1x2x8xf32>, %w: tensor<2x3x64xf32>) -> tensor<1x3x256xf32> {
  %y = "relax.conv1d_transpose"(%x, %w) {strides = array<i64: 32>, padding = array<i64: 16, 16>} : (tensor<1x2x8xf32>, tensor<2x3x64xf32>) -> tensor<1x3x256xf32>
  return %y : tensor<1x3x256xf32>
}

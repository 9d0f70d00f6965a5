// RUN: legato-opt %s --relax-widen-convolutions="target=llvm{cpu=znver4}" | filecheck %s
// RUN: legato-opt %s --relax-widen-convolutions="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=PLAIN

// A convolution of groups is one of f32, of a filter that is widened here, and rounded once.
// CHECK-LABEL: func.func @groups(
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{.*}}> : tensor<4x1x3x3xf32>}
// CHECK: %[[X:.*]] = "relax.astype"(%arg0) {dtype = f32}
// CHECK: %[[Y:.*]] = "relax.conv2d"(%[[X]], %[[W]]) {groups = 4 : i64}
// CHECK: "relax.astype"(%[[Y]]) {contract = true, dtype = bf16}
func.func @groups(%x: tensor<1x4x5x5xbf16>) -> tensor<1x4x3x3xbf16> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<4x1x3x3xbf16>} : () -> tensor<4x1x3x3xbf16>
  %0 = "relax.conv2d"(%x, %w) {groups = 4 : i64} : (tensor<1x4x5x5xbf16>, tensor<4x1x3x3xbf16>) -> tensor<1x4x3x3xbf16>
  return %0 : tensor<1x4x3x3xbf16>
}

// Groups stay that have many features, and enough channels, also those of one spatial dimension.
// CHECK-LABEL: func.func @pairs_of_groups(
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) {groups = 2 : i64} : (tensor<1x16x6x6xbf16>, tensor<18x8x3x3xbf16>)
// CHECK: "relax.conv2d"{{.*}}tensor<16x8x3x3xf32>
// PLAIN-LABEL: func.func @pairs_of_groups(
// PLAIN: "relax.conv2d"{{.*}}tensor<18x8x3x3xf32>
func.func @pairs_of_groups(%x: tensor<1x16x6x6xbf16>) -> (tensor<1x18x4x4xbf16>, tensor<1x16x4x4xbf16>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<18x8x3x3xbf16>} : () -> tensor<18x8x3x3xbf16>
  %v = "relax.constant"() {value = dense<0.5> : tensor<16x8x3x3xbf16>} : () -> tensor<16x8x3x3xbf16>
  %0 = "relax.conv2d"(%x, %w) {groups = 2 : i64} : (tensor<1x16x6x6xbf16>, tensor<18x8x3x3xbf16>) -> tensor<1x18x4x4xbf16>
  %1 = "relax.conv2d"(%x, %v) {groups = 2 : i64} : (tensor<1x16x6x6xbf16>, tensor<16x8x3x3xbf16>) -> tensor<1x16x4x4xbf16>
  return %0, %1 : tensor<1x18x4x4xbf16>, tensor<1x16x4x4xbf16>
}

// More than half of a vector of features stays, where windows read each element of the image often enough for its copy.
// CHECK-LABEL: func.func @few_features(
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) : (tensor<1x16x6x6xbf16>, tensor<9x16x3x3xbf16>)
// CHECK: "relax.conv2d"{{.*}}tensor<9x16x1x1xf32>
// CHECK: "relax.conv2d"{{.*}}tensor<8x16x3x3xf32>
// PLAIN-LABEL: func.func @few_features(
// PLAIN: "relax.conv2d"{{.*}}tensor<9x16x3x3xf32>
func.func @few_features(%x: tensor<1x16x6x6xbf16>) -> (tensor<1x9x4x4xbf16>, tensor<1x9x6x6xbf16>, tensor<1x8x4x4xbf16>) {
  %u = "relax.constant"() {value = dense<0.5> : tensor<9x16x3x3xbf16>} : () -> tensor<9x16x3x3xbf16>
  %v = "relax.constant"() {value = dense<0.5> : tensor<9x16x1x1xbf16>} : () -> tensor<9x16x1x1xbf16>
  %w = "relax.constant"() {value = dense<0.5> : tensor<8x16x3x3xbf16>} : () -> tensor<8x16x3x3xbf16>
  %0 = "relax.conv2d"(%x, %u) : (tensor<1x16x6x6xbf16>, tensor<9x16x3x3xbf16>) -> tensor<1x9x4x4xbf16>
  %1 = "relax.conv2d"(%x, %v) : (tensor<1x16x6x6xbf16>, tensor<9x16x1x1xbf16>) -> tensor<1x9x6x6xbf16>
  %2 = "relax.conv2d"(%x, %w) : (tensor<1x16x6x6xbf16>, tensor<8x16x3x3xbf16>) -> tensor<1x8x4x4xbf16>
  return %0, %1, %2 : tensor<1x9x4x4xbf16>, tensor<1x9x6x6xbf16>, tensor<1x8x4x4xbf16>
}

// CHECK-LABEL: func.func @pairs_of_signals(
// CHECK: "relax.conv1d"(%arg0, %{{.*}}) {groups = 2 : i64} : (tensor<1x16x20xbf16>, tensor<18x8x3xbf16>)
// PLAIN-LABEL: func.func @pairs_of_signals(
// PLAIN: "relax.conv1d"{{.*}}tensor<18x8x3xf32>
func.func @pairs_of_signals(%x: tensor<1x16x20xbf16>) -> tensor<1x18x18xbf16> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<18x8x3xbf16>} : () -> tensor<18x8x3xbf16>
  %0 = "relax.conv1d"(%x, %w) {groups = 2 : i64} : (tensor<1x16x20xbf16>, tensor<18x8x3xbf16>) -> tensor<1x18x18xbf16>
  return %0 : tensor<1x18x18xbf16>
}

// Pairs of bf16 stay where the CPU multiplies them: of one group and many features.
// CHECK-LABEL: func.func @pairs(
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) : (tensor<1x4x5x5xbf16>, tensor<16x4x3x3xbf16>)
// CHECK: "relax.conv2d"{{.*}}tensor<8x4x3x3xf32>
// PLAIN-LABEL: func.func @pairs(
// PLAIN: "relax.conv2d"{{.*}}tensor<16x4x3x3xf32>
func.func @pairs(%x: tensor<1x4x5x5xbf16>) -> (tensor<1x16x3x3xbf16>, tensor<1x8x3x3xbf16>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<16x4x3x3xbf16>} : () -> tensor<16x4x3x3xbf16>
  %v = "relax.constant"() {value = dense<0.5> : tensor<8x4x3x3xbf16>} : () -> tensor<8x4x3x3xbf16>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x5x5xbf16>, tensor<16x4x3x3xbf16>) -> tensor<1x16x3x3xbf16>
  %1 = "relax.conv2d"(%x, %v) : (tensor<1x4x5x5xbf16>, tensor<8x4x3x3xbf16>) -> tensor<1x8x3x3xbf16>
  return %0, %1 : tensor<1x16x3x3xbf16>, tensor<1x8x3x3xbf16>
}

// A filter that is not constant stays.
// CHECK-LABEL: func.func @given(
// CHECK: "relax.conv1d"(%arg0, %arg1)
func.func @given(%x: tensor<1x4x5xf16>, %w: tensor<2x4x3xf16>) -> tensor<1x2x3xf16> {
  %0 = "relax.conv1d"(%x, %w) : (tensor<1x4x5xf16>, tensor<2x4x3xf16>) -> tensor<1x2x3xf16>
  return %0 : tensor<1x2x3xf16>
}

// The filter of dequantized weights is a constant.
// CHECK-LABEL: func.func @dequantized(
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<1.500000e+00> : tensor<4x1x3xf32>}
// CHECK: "relax.conv1d"(%arg0, %[[W]])
func.func @dequantized(%x: tensor<1x4x5xf32>) -> tensor<1x4x3xf32> {
  %w = "relax.constant"() {value = dense<3> : tensor<4x1x3xi8>} : () -> tensor<4x1x3xi8>
  %s = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %f = "relax.astype"(%w) {dtype = f32} : (tensor<4x1x3xi8>) -> tensor<4x1x3xf32>
  %v = "relax.multiply"(%f, %s) : (tensor<4x1x3xf32>, tensor<f32>) -> tensor<4x1x3xf32>
  %0 = "relax.conv1d"(%x, %v) {groups = 4 : i64} : (tensor<1x4x5xf32>, tensor<4x1x3xf32>) -> tensor<1x4x3xf32>
  return %0 : tensor<1x4x3xf32>
}

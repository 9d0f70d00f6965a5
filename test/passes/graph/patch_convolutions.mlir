// RUN: legato-opt %s --relax-patch-convolutions="target=llvm{cpu=x86-64-v3}" --relax-fold-constants | filecheck %s

// Patches of 32 x 32 elements of 3 channels side by side: an image of 3072 channels. What is left beside the last patches is not read.
// CHECK-LABEL: func.func @patches(
// CHECK: %[[READ:.*]] = "relax.strided_slice"(%arg0) {{.*}}end = #relax.dims<[64, 96]>
// CHECK: %[[SPLIT:.*]] = "relax.reshape"(%[[READ]]) {{.*}} -> tensor<?x3x2x32x3x32xf32, #relax.dims<["n", 3, 2, 32, 3, 32]>>
// CHECK: %[[ROWS:.*]] = "relax.permute_dims"(%[[SPLIT]]) {axes = array<i64: 0, 2, 4, 1, 3, 5>}
// CHECK: %[[IMAGE:.*]] = "relax.reshape"(%[[ROWS]]) {{.*}} -> tensor<?x2x3x3072xf32, #relax.dims<["n", 2, 3, 3072]>>
// CHECK: "relax.conv2d"(%[[IMAGE]], %{{.*}}) {data_layout = "NHWC"} : ({{.*}}, tensor<512x3072x1x1xf32>)
// CHECK: "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 3, 1, 2>} : (tensor<?x2x3x512xf32
func.func @patches(%x: tensor<?x3x70x96xf32, #relax.dims<["n", 3, 70, 96]>>) -> tensor<?x512x2x3xf32, #relax.dims<["n", 512, 2, 3]>> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<512x3x32x32xf32>} : () -> tensor<512x3x32x32xf32>
  %0 = "relax.conv2d"(%x, %w) {strides = array<i64: 32, 32>} : (tensor<?x3x70x96xf32, #relax.dims<["n", 3, 70, 96]>>, tensor<512x3x32x32xf32>) -> tensor<?x512x2x3xf32, #relax.dims<["n", 512, 2, 3]>>
  return %0 : tensor<?x512x2x3xf32, #relax.dims<["n", 512, 2, 3]>>
}

// Volumes; one patch of each is a row of a product.
// CHECK-LABEL: func.func @volumes(
// CHECK: "relax.conv2d"({{.*}}tensor<2x12x5x1536xf32>, tensor<768x1536x1x1xf32>)
// CHECK: "relax.reshape"(%arg1) {{.*}} -> tensor<?x1536xf32, #relax.dims<["n", 1536]>>
// CHECK: "relax.matmul"({{.*}}tensor<1536x768xf32>)
func.func @volumes(%x: tensor<2x3x6x64x80xf32>, %one: tensor<?x3x2x16x16xf32, #relax.dims<["n", 3, 2, 16, 16]>>) -> (tensor<2x768x3x4x5xf32>, tensor<?x768x1x1x1xf32, #relax.dims<["n", 768, 1, 1, 1]>>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<768x3x2x16x16xf32>} : () -> tensor<768x3x2x16x16xf32>
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 2, 16, 16>} : (tensor<2x3x6x64x80xf32>, tensor<768x3x2x16x16xf32>) -> tensor<2x768x3x4x5xf32>
  %1 = "relax.conv3d"(%one, %w) {strides = array<i64: 2, 16, 16>} : (tensor<?x3x2x16x16xf32, #relax.dims<["n", 3, 2, 16, 16]>>, tensor<768x3x2x16x16xf32>) -> tensor<?x768x1x1x1xf32, #relax.dims<["n", 768, 1, 1, 1]>>
  return %0, %1 : tensor<2x768x3x4x5xf32>, tensor<?x768x1x1x1xf32, #relax.dims<["n", 768, 1, 1, 1]>>
}

// A filter that the run knows is a matrix where its window is the image.
// CHECK-LABEL: func.func @of_the_run(
// CHECK: %[[X:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<?x512xf32, {{.*}}>
// CHECK: %[[W:.*]] = "relax.reshape"(%arg1) {{.*}} -> tensor<64x512xf32>
// CHECK: %[[T:.*]] = "relax.permute_dims"(%[[W]]) {axes = array<i64: 1, 0>}
// CHECK: "relax.matmul"(%[[X]], %[[T]])
// CHECK-NOT: conv2d
func.func @of_the_run(%x: tensor<?x512x1x1xf32, #relax.dims<["n", 512, 1, 1]>>, %w: tensor<64x512x1x1xf32>) -> tensor<?x64x1x1xf32, #relax.dims<["n", 64, 1, 1]>> {
  %0 = "relax.conv2d"(%x, %w) : (tensor<?x512x1x1xf32, #relax.dims<["n", 512, 1, 1]>>, tensor<64x512x1x1xf32>) -> tensor<?x64x1x1xf32, #relax.dims<["n", 64, 1, 1]>>
  return %0 : tensor<?x64x1x1xf32, #relax.dims<["n", 64, 1, 1]>>
}

// Windows that overlap, that are padded, whose elements are apart, filters that are small or no constants, groups, and halves stay.
// CHECK-LABEL: func.func @others(
// CHECK: "relax.conv2d"(%arg0, {{.*}}strides = array<i64: 31, 32>
// CHECK: "relax.conv2d"(%arg0, {{.*}}padding = array<i64: 16, 0, 16, 0>
// CHECK: "relax.conv2d"(%arg0, {{.*}}dilations = array<i64: 2, 1>
// CHECK: "relax.conv2d"(%arg0, {{.*}}tensor<8x3x32x32xf32>
// CHECK: "relax.conv2d"(%arg0, %arg1)
// CHECK: "relax.conv2d"(%arg0, {{.*}}groups = 3
// CHECK: "relax.conv2d"(%arg2, {{.*}}xf16>
// CHECK-NOT: 3072
func.func @others(%x: tensor<1x3x64x64xf32>, %v: tensor<512x3x32x32xf32>, %h: tensor<1x3x64x64xf16>) -> (tensor<1x512x2x2xf32>, tensor<1x512x3x2xf32>, tensor<1x512x1x2xf32>, tensor<1x8x2x2xf32>, tensor<1x512x2x2xf32>, tensor<1x1536x2x2xf32>, tensor<1x512x2x2xf16>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<512x3x32x32xf32>} : () -> tensor<512x3x32x32xf32>
  %few = "relax.constant"() {value = dense<0.5> : tensor<8x3x32x32xf32>} : () -> tensor<8x3x32x32xf32>
  %groups = "relax.constant"() {value = dense<0.5> : tensor<1536x1x32x32xf32>} : () -> tensor<1536x1x32x32xf32>
  %half = "relax.constant"() {value = dense<0.5> : tensor<512x3x32x32xf16>} : () -> tensor<512x3x32x32xf16>
  %0 = "relax.conv2d"(%x, %w) {strides = array<i64: 31, 32>} : (tensor<1x3x64x64xf32>, tensor<512x3x32x32xf32>) -> tensor<1x512x2x2xf32>
  %1 = "relax.conv2d"(%x, %w) {strides = array<i64: 32, 32>, padding = array<i64: 16, 0, 16, 0>} : (tensor<1x3x64x64xf32>, tensor<512x3x32x32xf32>) -> tensor<1x512x3x2xf32>
  %2 = "relax.conv2d"(%x, %w) {strides = array<i64: 32, 32>, dilations = array<i64: 2, 1>} : (tensor<1x3x64x64xf32>, tensor<512x3x32x32xf32>) -> tensor<1x512x1x2xf32>
  %3 = "relax.conv2d"(%x, %few) {strides = array<i64: 32, 32>} : (tensor<1x3x64x64xf32>, tensor<8x3x32x32xf32>) -> tensor<1x8x2x2xf32>
  %4 = "relax.conv2d"(%x, %v) {strides = array<i64: 32, 32>} : (tensor<1x3x64x64xf32>, tensor<512x3x32x32xf32>) -> tensor<1x512x2x2xf32>
  %5 = "relax.conv2d"(%x, %groups) {strides = array<i64: 32, 32>, groups = 3 : i64} : (tensor<1x3x64x64xf32>, tensor<1536x1x32x32xf32>) -> tensor<1x1536x2x2xf32>
  %6 = "relax.conv2d"(%h, %half) {strides = array<i64: 32, 32>} : (tensor<1x3x64x64xf16>, tensor<512x3x32x32xf16>) -> tensor<1x512x2x2xf16>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1x512x2x2xf32>, tensor<1x512x3x2xf32>, tensor<1x512x1x2xf32>, tensor<1x8x2x2xf32>, tensor<1x512x2x2xf32>, tensor<1x1536x2x2xf32>, tensor<1x512x2x2xf16>
}

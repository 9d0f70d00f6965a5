// RUN: legato-opt %s --relax-plane-convolutions="target=llvm{cpu=znver4}" | filecheck %s
// RUN: legato-opt %s --relax-plane-convolutions="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=FEW
// RUN: legato-opt %s --relax-plane-convolutions="target=llvm{cpu=x86-64-v2}" | filecheck %s --check-prefix=PLAIN
// RUN: legato-opt %s --relax-plane-convolutions="target=llvm{cpu=znver4 matmul-precision=bf16}" | filecheck %s --check-prefix=LANES
// RUN: legato-opt %s --relax-plane-convolutions="target=llvm{cpu=sapphirerapids matmul-precision=bf16}" | filecheck %s --check-prefix=MATRICES

// Windows that do not overlap: the slices that a window covers are channels, of an image for each slice of the result. Where a tap is in the
// padding there are zeros.
// CHECK-LABEL: func.func @apart(
// CHECK: %[[LAST:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 0, 2, 3, 4, 1>}
// CHECK: %[[ODD:.*]] = "relax.strided_slice"(%[[LAST]]) {{.*}}begin = #relax.dims<[1]>, end = #relax.dims<[4]>{{.*}}strides = array<i64: 2>
// CHECK: %[[FIRST:.*]] = "relax.pad"(%[[ODD]]) {pads = array<i64: 0, 1, 0, 0, 0, 0, 0, 0, 0, 0>}
// CHECK: %[[EVEN:.*]] = "relax.strided_slice"(%[[LAST]]) {{.*}}begin = #relax.dims<[0]>, end = #relax.dims<[5]>{{.*}}strides = array<i64: 2>
// CHECK: tensor.concat dim(4) %[[FIRST]], %[[EVEN]]
// CHECK: %[[X:.*]] = "relax.reshape"{{.*}} -> tensor<?x6x6x16xf32, #relax.dims<["n * 3", 6, 6, 16]>>
// CHECK: %[[Y:.*]] = "relax.conv2d"(%[[X]], %{{.*}}) {data_layout = "NHWC", strides = array<i64: 2, 2>} : ({{.*}}, tensor<64x16x2x2xf32>)
// CHECK: "relax.reshape"(%[[Y]]) {{.*}} -> tensor<?x3x3x3x64xf32, #relax.dims<["n", 3, 3, 3, 64]>>
func.func @apart(%x: tensor<?x8x5x6x6xf32, #relax.dims<["n", 8, 5, 6, 6]>>) -> tensor<?x64x3x3x3xf32, #relax.dims<["n", 64, 3, 3, 3]>> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<64x8x2x2x2xf32>} : () -> tensor<64x8x2x2x2xf32>
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 2, 2, 2>, padding = array<i64: 1, 0, 0, 0, 0, 0>} : (tensor<?x8x5x6x6xf32, #relax.dims<["n", 8, 5, 6, 6]>>, tensor<64x8x2x2x2xf32>) -> tensor<?x64x3x3x3xf32, #relax.dims<["n", 64, 3, 3, 3]>>
  return %0 : tensor<?x64x3x3x3xf32, #relax.dims<["n", 64, 3, 3, 3]>>
}

// Windows that overlap have loops of their own on CPUs of many registers; without steps, on all.
// CHECK-LABEL: func.func @overlapping(
// CHECK-COUNT-2: "relax.conv3d"
// FEW-LABEL: func.func @overlapping(
// FEW: "relax.conv2d"
// FEW: "relax.conv3d"
func.func @overlapping(%x: tensor<1x8x32x32x32xf32>) -> (tensor<1x64x15x15x15xf32>, tensor<1x64x30x30x30xf32>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<64x8x3x3x3xf32>} : () -> tensor<64x8x3x3x3xf32>
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 2, 2, 2>} : (tensor<1x8x32x32x32xf32>, tensor<64x8x3x3x3xf32>) -> tensor<1x64x15x15x15xf32>
  %1 = "relax.conv3d"(%x, %w) : (tensor<1x8x32x32x32xf32>, tensor<64x8x3x3x3xf32>) -> tensor<1x64x30x30x30xf32>
  return %0, %1 : tensor<1x64x15x15x15xf32>, tensor<1x64x30x30x30xf32>
}

// What windows of one tap step over is not copied, and the convolution of the images has no stride.
// CHECK-LABEL: func.func @skipped(
// CHECK: %[[READ:.*]] = "relax.strided_slice"(%arg0) {{.*}}strides = array<i64: 2, 2>{{.*}} -> tensor<1x8x5x3x3xf32>
// CHECK: "relax.permute_dims"(%[[READ]])
// CHECK: "relax.conv2d"(%{{.*}}, %{{.*}}) {data_layout = "NHWC"} : (tensor<3x3x3x24xf32>, tensor<64x24x1x1xf32>)
func.func @skipped(%x: tensor<1x8x5x6x6xf32>) -> tensor<1x64x3x3x3xf32> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<64x8x3x1x1xf32>} : () -> tensor<64x8x3x1x1xf32>
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 1, 2, 2>} : (tensor<1x8x5x6x6xf32>, tensor<64x8x3x1x1xf32>) -> tensor<1x64x3x3x3xf32>
  return %0 : tensor<1x64x3x3x3xf32>
}

// Pairs of bf16 are multiplied in images; groups, and filters that are not constant, stay.
// CHECK-LABEL: func.func @pairs(
// CHECK: "relax.conv2d"{{.*}}tensor<16x12x3x3xbf16>
// CHECK: "relax.conv3d"{{.*}}groups = 2
// CHECK: "relax.conv3d"(%arg0, %arg1)
// FEW-LABEL: func.func @pairs(
// FEW-COUNT-3: "relax.conv3d"
func.func @pairs(%x: tensor<1x4x5x5x5xbf16>, %v: tensor<16x4x3x3x3xbf16>) -> (tensor<1x16x3x3x3xbf16>, tensor<1x16x3x3x3xbf16>, tensor<1x16x3x3x3xbf16>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<16x4x3x3x3xbf16>} : () -> tensor<16x4x3x3x3xbf16>
  %g = "relax.constant"() {value = dense<0.5> : tensor<16x2x3x3x3xbf16>} : () -> tensor<16x2x3x3x3xbf16>
  %0 = "relax.conv3d"(%x, %w) : (tensor<1x4x5x5x5xbf16>, tensor<16x4x3x3x3xbf16>) -> tensor<1x16x3x3x3xbf16>
  %1 = "relax.conv3d"(%x, %g) {groups = 2 : i64} : (tensor<1x4x5x5x5xbf16>, tensor<16x2x3x3x3xbf16>) -> tensor<1x16x3x3x3xbf16>
  %2 = "relax.conv3d"(%x, %v) : (tensor<1x4x5x5x5xbf16>, tensor<16x4x3x3x3xbf16>) -> tensor<1x16x3x3x3xbf16>
  return %0, %1, %2 : tensor<1x16x3x3x3xbf16>, tensor<1x16x3x3x3xbf16>, tensor<1x16x3x3x3xbf16>
}

// Few features are faster by columns, where loops over these are made: with FMA.
// PLAIN-LABEL: func.func @few(
// PLAIN: "relax.conv2d"
// FEW-LABEL: func.func @few(
// FEW: "relax.conv3d"
func.func @few(%x: tensor<1x3x9x40x60xf32>) -> tensor<1x2x4x19x29xf32> {
  %w = "relax.constant"() {value = dense<0.5> : tensor<2x3x3x3x3xf32>} : () -> tensor<2x3x3x3x3xf32>
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 2, 2, 2>} : (tensor<1x3x9x40x60xf32>, tensor<2x3x3x3x3xf32>) -> tensor<1x2x4x19x29xf32>
  return %0 : tensor<1x2x4x19x29xf32>
}

// Where factors are rounded to bf16, matrix registers multiply images; in the lanes of vectors, Winograd's algorithm takes slices of volumes as
// they are. A volume is padded once if windows read padding at both of its ends.
// LANES-LABEL: func.func @rounded(
// LANES: "relax.conv3d"
// LANES: "relax.conv2d"
// LANES: "relax.conv2d"
// LANES: "relax.conv2d"
// MATRICES-LABEL: func.func @rounded(
// MATRICES: %[[LAST:.*]] = "relax.permute_dims"(%arg0)
// MATRICES-NEXT: %[[PADDED:.*]] = "relax.pad"(%[[LAST]]) {pads = array<i64: 0, 1, 0, 0, 0, 0, 1, 0, 0, 0>}
// MATRICES-COUNT-3: "relax.strided_slice"(%[[PADDED]])
// MATRICES-NEXT: tensor.concat dim(4)
// MATRICES: "relax.conv2d"
// MATRICES-NOT: "relax.conv3d"
func.func @rounded(%x: tensor<1x32x8x12x12xf32>, %y: tensor<1x24x8x12x12xf32>)
    -> (tensor<1x64x8x12x12xf32>, tensor<1x64x8x12x12xf32>, tensor<1x64x8x6x6xf32>, tensor<1x64x8x12x12xf32>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<64x32x3x3x3xf32>} : () -> tensor<64x32x3x3x3xf32>
  %v = "relax.constant"() {value = dense<0.5> : tensor<64x24x3x3x3xf32>} : () -> tensor<64x24x3x3x3xf32>
  %u = "relax.constant"() {value = dense<0.5> : tensor<64x32x1x3x3xf32>} : () -> tensor<64x32x1x3x3xf32>
  %0 = "relax.conv3d"(%x, %w) {padding = array<i64: 1, 1, 1, 1, 1, 1>} : (tensor<1x32x8x12x12xf32>, tensor<64x32x3x3x3xf32>) -> tensor<1x64x8x12x12xf32>
  %1 = "relax.conv3d"(%y, %v) {padding = array<i64: 1, 1, 1, 1, 1, 1>} : (tensor<1x24x8x12x12xf32>, tensor<64x24x3x3x3xf32>) -> tensor<1x64x8x12x12xf32>
  %2 = "relax.conv3d"(%x, %w) {strides = array<i64: 1, 2, 2>, padding = array<i64: 1, 1, 1, 1, 1, 1>} : (tensor<1x32x8x12x12xf32>, tensor<64x32x3x3x3xf32>) -> tensor<1x64x8x6x6xf32>
  %3 = "relax.conv3d"(%x, %u) {padding = array<i64: 0, 1, 1, 0, 1, 1>} : (tensor<1x32x8x12x12xf32>, tensor<64x32x1x3x3xf32>) -> tensor<1x64x8x12x12xf32>
  return %0, %1, %2, %3 : tensor<1x64x8x12x12xf32>, tensor<1x64x8x12x12xf32>, tensor<1x64x8x6x6xf32>, tensor<1x64x8x12x12xf32>
}

// Windows along the depth alone are those of one image (relax-collapse-batch), not of copied slices.
// LANES-LABEL: func.func @depth(
// LANES: "relax.conv3d"
// MATRICES-LABEL: func.func @depth(
// MATRICES: "relax.conv3d"
func.func @depth(%x: tensor<1x32x8x12x12xf32>) -> tensor<1x64x4x12x12xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<64x32x3x1x1xf32>} : () -> tensor<64x32x3x1x1xf32>
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 2, 1, 1>, padding = array<i64: 1, 0, 0, 1, 0, 0>} : (tensor<1x32x8x12x12xf32>, tensor<64x32x3x1x1xf32>) -> tensor<1x64x4x12x12xf32>
  return %0 : tensor<1x64x4x12x12xf32>
}

// RUN: legato-opt %s --relax-split-pools | filecheck %s

// 400 neighbours are 7 places, 56 apart, of 64, which are 8 places, 8 apart, of 8 neighbours.
// CHECK-LABEL: func.func @long(
// CHECK: %[[A:.*]] = "relax.max_pool1d"(%arg0) {kernel = array<i64: 8>} : (tensor<1x4x1000xf32>) -> tensor<1x4x993xf32>
// CHECK: %[[B:.*]] = "relax.max_pool1d"(%[[A]]) {dilations = array<i64: 8>, kernel = array<i64: 8>} : (tensor<1x4x993xf32>) -> tensor<1x4x937xf32>
// CHECK: %[[C:.*]] = "relax.max_pool1d"(%[[B]]) {dilations = array<i64: 56>, kernel = array<i64: 7>} : (tensor<1x4x937xf32>) -> tensor<1x4x601xf32>
// CHECK: return %[[C]]
func.func @long(%x: tensor<1x4x1000xf32>) -> tensor<1x4x601xf32> {
  %y = "relax.max_pool1d"(%x) {kernel = array<i64: 400>} : (tensor<1x4x1000xf32>) -> tensor<1x4x601xf32>
  return %y : tensor<1x4x601xf32>
}

// The first pool takes what padding its windows reach beside an element, the second the rest; an axis of short windows is the second's.
// CHECK-LABEL: func.func @padded(
// CHECK: "relax.max_pool2d"(%arg0) {kernel = array<i64: 7, 1>, padding = array<i64: 6, 0, 6, 0>}
// CHECK: "relax.max_pool2d"(%{{.*}}) {dilations = array<i64: 7, 1>, kernel = array<i64: 7, 3>, padding = array<i64: 18, 1, 14, 1>, strides = array<i64: 1, 2>}
// CHECK-NOT: relax.max_pool2d
// CHECK: return
func.func @padded(%x: tensor<1x4x60x9xf32>) -> tensor<1x4x56x5xf32> {
  %y = "relax.max_pool2d"(%x) {kernel = array<i64: 49, 3>, padding = array<i64: 24, 1, 20, 1>, strides = array<i64: 1, 2>} : (tensor<1x4x60x9xf32>) -> tensor<1x4x56x5xf32>
  return %y : tensor<1x4x56x5xf32>
}

// Windows 16 apart are made of ones that do not overlap: the first pools skip what the others do not read.
// CHECK-LABEL: func.func @apart(
// CHECK: "relax.max_pool1d"(%arg0) {kernel = array<i64: 8>, strides = array<i64: 8>}
// CHECK: "relax.max_pool1d"(%{{.*}}) {kernel = array<i64: 2>, strides = array<i64: 2>}
// CHECK: "relax.max_pool1d"(%{{.*}}) {kernel = array<i64: 5>}
// CHECK: return
func.func @apart(%x: tensor<1x4x1040xf32>) -> tensor<1x4x61xf32> {
  %y = "relax.max_pool1d"(%x) {kernel = array<i64: 80>, strides = array<i64: 16>} : (tensor<1x4x1040xf32>) -> tensor<1x4x61xf32>
  return %y : tensor<1x4x61xf32>
}

// Left alone: short windows, windows that take an element four times at most, and a last window that ends behind the padding.
// CHECK-LABEL: func.func @left(
// CHECK-COUNT-3: "relax.max_pool1d"(%arg0)
// CHECK-NOT: relax.max_pool1d
// CHECK: return
func.func @left(%x: tensor<1x4x100xf32>) -> (tensor<1x4x93xf32>, tensor<1x4x5xf32>, tensor<1x4x33xf32>) {
  %y = "relax.max_pool1d"(%x) {kernel = array<i64: 8>} : (tensor<1x4x100xf32>) -> tensor<1x4x93xf32>
  %v = "relax.max_pool1d"(%x) {kernel = array<i64: 40>, strides = array<i64: 12>} : (tensor<1x4x100xf32>) -> tensor<1x4x6xf32>
  %z = "relax.max_pool1d"(%x) {kernel = array<i64: 35>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x4x100xf32>) -> tensor<1x4x34xf32>
  %w = tensor.extract_slice %z[0, 0, 0] [1, 4, 33] [1, 1, 1] : tensor<1x4x34xf32> to tensor<1x4x33xf32>
  %u = tensor.extract_slice %v[0, 0, 0] [1, 4, 5] [1, 1, 1] : tensor<1x4x6xf32> to tensor<1x4x5xf32>
  return %y, %u, %w : tensor<1x4x93xf32>, tensor<1x4x5xf32>, tensor<1x4x33xf32>
}

// RUN: legato-opt %s --relax-split-pools | filecheck %s

// 400 neighbours are 20 places, 20 apart, of 20 neighbours. The first pool skips what the second does not read.
// CHECK-LABEL: func.func @long(
// CHECK: %[[A:.*]] = "relax.max_pool1d"(%arg0) {kernel = array<i64: 20>} : (tensor<1x4x1000xf32>) -> tensor<1x4x981xf32>
// CHECK: %[[B:.*]] = "relax.max_pool1d"(%[[A]]) {dilations = array<i64: 20>, kernel = array<i64: 20>} : (tensor<1x4x981xf32>) -> tensor<1x4x601xf32>
// CHECK: return %[[B]]
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

// Windows that do not overlap: neither do those of the first pool.
// CHECK-LABEL: func.func @apart(
// CHECK: "relax.max_pool1d"(%arg0) {kernel = array<i64: [[A:[0-9]+]]>, strides = array<i64: [[A]]>}
// CHECK: "relax.max_pool1d"
// CHECK: return
func.func @apart(%x: tensor<1x4x1000xf32>) -> tensor<1x4x10xf32> {
  %y = "relax.max_pool1d"(%x) {kernel = array<i64: 100>, strides = array<i64: 100>} : (tensor<1x4x1000xf32>) -> tensor<1x4x10xf32>
  return %y : tensor<1x4x10xf32>
}

// Left alone: short windows, and a last window that ends behind the padding.
// CHECK-LABEL: func.func @left(
// CHECK-COUNT-2: "relax.max_pool1d"(%arg0)
// CHECK-NOT: relax.max_pool1d
// CHECK: return
func.func @left(%x: tensor<1x4x100xf32>) -> (tensor<1x4x69xf32>, tensor<1x4x33xf32>) {
  %y = "relax.max_pool1d"(%x) {kernel = array<i64: 32>} : (tensor<1x4x100xf32>) -> tensor<1x4x69xf32>
  %z = "relax.max_pool1d"(%x) {kernel = array<i64: 35>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x4x100xf32>) -> tensor<1x4x34xf32>
  %w = tensor.extract_slice %z[0, 0, 0] [1, 4, 33] [1, 1, 1] : tensor<1x4x34xf32> to tensor<1x4x33xf32>
  return %y, %w : tensor<1x4x69xf32>, tensor<1x4x33xf32>
}

// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s

// All of 100 elements of 64 bits: the order of their lower halves, and of the upper halves in that order.
// CHECK-LABEL: func.func @integers(
// CHECK: call @kernel_right_shift
// CHECK: %[[LOWER:.*]] = call @kernel_astype{{.*}} -> tensor<3x100xi32
// CHECK: %[[FIRST:.*]] = call @kernel_topk{{[_0-9]*}}(%[[LOWER]],
// CHECK: %[[UPPER:.*]] = call @kernel_gather_elements{{[_0-9]*}}(%{{.*}}, %[[FIRST]],
// CHECK: %[[SECOND:.*]] = call @kernel_topk{{[_0-9]*}}(%[[UPPER]],
// CHECK: call @kernel_gather_elements{{[_0-9]*}}(%[[FIRST]], %[[SECOND]],
func.func @integers(%x: tensor<3x100xi64>) -> tensor<3x100xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 100 : i64} : (tensor<3x100xi64>) -> tensor<3x100xi64>
  return %0 : tensor<3x100xi64>
}

// Floats are integers in the same order first.
// CHECK-LABEL: func.func @floats(
// CHECK: call @kernel_bitcast
// CHECK-COUNT-2: call @kernel_topk
func.func @floats(%x: tensor<100xf64>) -> tensor<60xi64> {
  %0 = "relax.topk"(%x) {axis = 0 : i64, k = 60 : i64} : (tensor<100xf64>) -> tensor<60xi64>
  return %0 : tensor<60xi64>
}

// Of a row that is long enough to enter a heap often.
// CHECK-LABEL: func.func @quarter(
// CHECK-COUNT-2: call @kernel_topk
func.func @quarter(%x: tensor<2x200xi64>) -> tensor<2x50xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 50 : i64} : (tensor<2x200xi64>) -> tensor<2x50xi64>
  return %0 : tensor<2x50xi64>
}

// Of a longer one they are in vectors, in order.
// CHECK-LABEL: func.func @long(
// CHECK-COUNT-1: call @kernel_topk
// CHECK-NOT: call
// CHECK: return
func.func @long(%x: tensor<2x1000xi64>) -> tensor<2x50xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 50 : i64} : (tensor<2x1000xi64>) -> tensor<2x50xi64>
  return %0 : tensor<2x50xi64>
}

// A few of many are kept in a heap.
// CHECK-LABEL: func.func @few(
// CHECK-COUNT-1: call @kernel_topk
// CHECK-NOT: call
// CHECK: return
func.func @few(%x: tensor<100xi64>) -> tensor<10xi64> {
  %0 = "relax.topk"(%x) {axis = 0 : i64, k = 10 : i64} : (tensor<100xi64>) -> tensor<10xi64>
  return %0 : tensor<10xi64>
}

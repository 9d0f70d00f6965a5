// split puts nested loops in the place of one; a factor of -1 is what is left.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i, j_0, j_1 in T.grid(16, 4, 8):
// CHECK-NEXT:     v = j_0 * 8 + j_1
// CHECK-NEXT:     for k_0, k_1, k_2 in T.grid(2, 3, 4):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi = T.axis.spatial(16, i)
// CHECK-NEXT:             vj = T.axis.spatial(32, v)
// CHECK-NEXT:             vk = T.axis.reduce(24, (k_0 * 3 + k_1) * 4 + k_2)
// CHECK-NEXT:             with T.init():
// CHECK-NEXT:                 C[vi, vj] = 0.0
// CHECK-NEXT:             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// Factors that make fewer steps than the loop has are refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: split: the factors [3, 4] make 12 steps, and the loop j has 32
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 8>} : (!op) -> (!op, !op)
    %k:3 = "tir.sch_split"(%l#2) {factors = array<i64: 2, 3, -1>} : (!op) -> (!op, !op, !op)
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: 3, 4>} : (!op) -> (!op, !op)
    transform.yield
  }
}

// unroll: the body of the loop is copied for each step.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i, j, k_0 in T.grid(16, 32, 6):
// CHECK-NEXT:     for k_1 in T.unroll(4):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi = T.axis.spatial(16, i)
// CHECK-NEXT:             vj = T.axis.spatial(32, j)
// CHECK-NEXT:             vk = T.axis.reduce(24, k_0 * 4 + k_1)
// CHECK-NEXT:             with T.init():
// CHECK-NEXT:                 C[vi, vj] = 0.0
// CHECK-NEXT:             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// So many copies are refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: unroll: 12288 copies of the body of i_j_k_fused are too many; at most 1024
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %k:2 = "tir.sch_split"(%l#2) {factors = array<i64: -1, 4>} : (!op) -> (!op, !op)
    "tir.sch_unroll"(%k#1) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %f = "tir.sch_fuse"(%l#0, %l#1, %l#2) : (!op, !op, !op) -> !op
    "tir.sch_unroll"(%f) : (!op) -> ()
    transform.yield
  }
}

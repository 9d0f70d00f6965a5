// reverse_compute_at: the block runs inside the loop of what it reads, on what a step of it has computed.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i_0, j_0 in T.grid(4, 4):
// CHECK-NEXT:     for i_1, j_1, k in T.grid(4, 8, 24):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi = T.axis.spatial(16, i_0 * 4 + i_1)
// CHECK-NEXT:             vj = T.axis.spatial(32, j_0 * 8 + j_1)
// CHECK-NEXT:             vk = T.axis.reduce(24, k)
// CHECK-NEXT:             with T.init():
// CHECK-NEXT:                 C[vi, vj] = 0.0
// CHECK-NEXT:             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT:     for ax0, ax1 in T.grid(4, 8):
// CHECK-NEXT:         with T.block("D"):
// CHECK-NEXT:             vi = T.axis.spatial(16, i_0 * 4 + ax0)
// CHECK-NEXT:             vj = T.axis.spatial(32, j_0 * 8 + ax1)
// CHECK-NEXT:             D[vi, vj] = T.max(C[vi, vj], 0.0)

// A sum is not finished inside the loop that it runs over.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: reverse_compute_at: block 'C' is not finished within a step of k: it reduces over k
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %i:2 = "tir.sch_split"(%l#0) {factors = array<i64: -1, 4>} : (!op) -> (!op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 8>} : (!op) -> (!op, !op)
    "tir.sch_reorder"(%i#0, %j#0, %i#1, %j#1, %l#2) : (!op, !op, !op, !op, !op) -> ()
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_reverse_compute_at"(%d, %j#0) : (!op, !op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_reverse_compute_at"(%d, %l#2) : (!op, !op) -> ()
    transform.yield
  }
}

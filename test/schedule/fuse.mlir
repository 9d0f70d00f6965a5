// fuse makes one loop of loops that stand directly in each other.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      B = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: C = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i_j_fused in range(1200):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi = T.axis.spatial(30, T.truncdiv(i_j_fused, 40))
// CHECK-NEXT:         vj = T.axis.spatial(40, T.truncmod(i_j_fused, 40))
// CHECK-NEXT:         B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         C[vi, vj] = B[vi, vj] + 1.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = C[vi, vj] * C[vi, vj]

// Loops of two nests are refused.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: fuse: the loop j does not stand directly in i, alone
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %f = "tir.sch_fuse"(%l#0, %l#1) : (!op, !op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %m:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
    %f = "tir.sch_fuse"(%l#0, %m#1) : (!op, !op) -> !op
    transform.yield
  }
}

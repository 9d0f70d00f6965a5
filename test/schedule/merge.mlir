// merge: nests beside each other become one, with the blocks of both.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      for i_m, j_m in T.grid(30, 40):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i_m, j_m])
// CHECK-NEXT:         B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i_m, j_m])
// CHECK-NEXT:         C[vi, vj] = B[vi, vj] + 1.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("D"):

// Loops at different depths are refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: merge: the loops k, j have different numbers of loops around them in their nests
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %m:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
    %n = "tir.sch_merge"(%l#1, %m#1) : (!op, !op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %m:2 = "tir.sch_get_loops"(%d) : (!op) -> (!op, !op)
    %n = "tir.sch_merge"(%l#2, %m#1) : (!op, !op) -> !op
    transform.yield
  }
}

// decompose_padding: a block fills with the constant before the loop, and the block that pads has the steps inside only.
// RUN: %{on:padded} | filecheck %s
// CHECK:      for i in range(10):
// CHECK-NEXT:     for j in range(12):
// CHECK-NEXT:         with T.block("P_pad_const"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:             P[vi, vj] = 0.0
// CHECK-NEXT:     for j in range(8):
// CHECK-NEXT:         with T.block("P"):
// CHECK-NEXT:             vi = T.axis.spatial(8, i + -1)
// CHECK-NEXT:             vj = T.axis.spatial(8, j)
// CHECK-NEXT:             T.where(i >= 1 and i < 9)
// CHECK-NEXT:             P[vi + 1, vj + 2] = X[vi, vj]
// CHECK-NEXT: for i, j in T.grid(10, 12):
// CHECK-NEXT:     with T.block("Y"):

// A block that chooses no constant is refused.
// RUN: not %{on:padded}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: decompose_padding: block 'Y' does not choose between a constant and something else, by T.if_then_else
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %p = "tir.sch_get_block"(%kernel) {name = "P"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%p) : (!op) -> (!op, !op)
    %fill = "tir.sch_decompose_padding"(%p, %l#1) : (!op, !op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %y = "tir.sch_get_block"(%kernel) {name = "Y"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%y) : (!op) -> (!op, !op)
    %fill = "tir.sch_decompose_padding"(%y, %l#0) : (!op, !op) -> !op
    transform.yield
  }
}

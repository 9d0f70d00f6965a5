// loop_partition: a loop becomes consecutive ones over parts of its steps, with copies of its blocks.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      for i0, j in T.grid(2, 40):
// CHECK-NEXT:     with T.block("B_i0"):
// CHECK-NEXT:         vi = T.axis.spatial(30, i0)
// CHECK-NEXT:         vj = T.axis.spatial(40, j)
// CHECK-NEXT:         B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT: for i1 in range(25):
// CHECK-NEXT:     v = i1 + 2
// CHECK-NEXT:     for j in range(40):
// CHECK-NEXT:         with T.block("B_i1"):
// CHECK-NEXT:             vi = T.axis.spatial(30, v)
// CHECK-NEXT:             vj = T.axis.spatial(40, j)
// CHECK-NEXT:             B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT: for i2 in range(3):
// CHECK-NEXT:     v = i2 + 27
// CHECK-NEXT:     for j in range(40):
// CHECK-NEXT:         with T.block("B_i2"):

// Parts that leave nothing of the loop are refused.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: loop_partition: parts of 20 + 10 steps leave none of the 30 of the loop i
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %p:3 = "tir.sch_loop_partition"(%l#0) {factors = array<i64: 2, 25>} : (!op) -> (!op, !op, !op)
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %p:3 = "tir.sch_loop_partition"(%l#0) {factors = array<i64: 20, 10>} : (!op) -> (!op, !op, !op)
    transform.yield
  }
}

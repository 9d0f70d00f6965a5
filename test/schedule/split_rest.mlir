// Factors that do not divide the loop make its last step partial: the block gets a predicate.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      B = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: C = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i, j_0, j_1 in T.grid(30, 3, 16):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi = T.axis.spatial(30, i)
// CHECK-NEXT:         vj = T.axis.spatial(40, j_0 * 16 + j_1)
// CHECK-NEXT:         T.where(j_0 * 16 + j_1 < 40)
// CHECK-NEXT:         B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         C[vi, vj] = B[vi, vj] + 1.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = C[vi, vj] * C[vi, vj]

// One factor may be left open, not two.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: split: the factors are positive, one of them may be None; not [-1, -1]
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 16>} : (!op) -> (!op, !op)
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, -1>} : (!op) -> (!op, !op)
    transform.yield
  }
}

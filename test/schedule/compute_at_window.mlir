// What a step needs may overlap with what others need: it is computed again.
// RUN: %{on:blur} | filecheck %s
// CHECK:      B = T.alloc_buffer((34,), "float32")
// CHECK-NEXT: for i_0 in range(4):
// CHECK-NEXT:     for ax0 in range(10):
// CHECK-NEXT:         with T.block("B"):
// CHECK-NEXT:             vi = T.axis.spatial(34, i_0 * 8 + ax0)
// CHECK-NEXT:             B[vi] = A[vi] * 0.5
// CHECK-NEXT:     for i_1 in range(8):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi = T.axis.spatial(32, i_0 * 8 + i_1)
// CHECK-NEXT:             C[vi] = B[vi] + B[vi + 1] + B[vi + 2]

// A block that is there already is refused.
// RUN: not %{on:blur}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: compute_at: block 'B' is under the loop i already
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l = "tir.sch_get_loops"(%c) : (!op) -> !op
    %i:2 = "tir.sch_split"(%l) {factors = array<i64: -1, 8>} : (!op) -> (!op, !op)
    "tir.sch_compute_at"(%b, %i#0) : (!op, !op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l = "tir.sch_get_loops"(%c) : (!op) -> !op
    "tir.sch_compute_at"(%b, %l) : (!op, !op) -> ()
    "tir.sch_compute_at"(%b, %l) : (!op, !op) -> ()
    transform.yield
  }
}

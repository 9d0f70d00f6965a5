// rfactor: each step of a sum's loop adds up into a place of its own; the block of the old name adds these up.
// RUN: %{on:row_sum} | filecheck %s
// CHECK:      B_rf = T.alloc_buffer((16, 8), "float32")
// CHECK-NEXT: for i, k_0, k_1 in T.grid(8, 6, 16):
// CHECK-NEXT:     with T.block("B_rf"):
// CHECK-NEXT:         vi, vk_0, v_rf = T.axis.remap("SRS", [i, k_0, k_1])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             B_rf[v_rf, vi] = 0.0
// CHECK-NEXT:         B_rf[v_rf, vi] = B_rf[v_rf, vi] + A[vi, vk_0 * 16 + v_rf]
// CHECK-NEXT: for vi in T.parallel(8):
// CHECK-NEXT:     for rf in range(16):
// CHECK-NEXT:         with T.block("B"):
// CHECK-NEXT:             vi_1, v_rf = T.axis.remap("SR", [vi, rf])
// CHECK-NEXT:             with T.init():
// CHECK-NEXT:                 B[vi_1] = 0.0
// CHECK-NEXT:             B[vi_1] = B[vi_1] + B_rf[v_rf, vi_1]

// A loop that is all of the sum is refused.
// RUN: not %{on:row_sum}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: rfactor: nothing is left to reduce in block 'B' in one step of k: split the loop first

// Steps beyond the end of a loop that the factor does not divide add what the sum begins with, also to parts that have no other step.
// RUN: %{on:row_sum}=entry-point=beyond | filecheck %s --check-prefix=BEYOND
// BEYOND:      B_rf = T.alloc_buffer((7, 8), "float32")
// BEYOND-NEXT: for i, k_0, k_1 in T.grid(8, 14, 7):
// BEYOND-NEXT:     with T.block("B_rf"):
// BEYOND-NEXT:         vi, vk_0, v_rf = T.axis.remap("SRS", [i, k_0, k_1])
// BEYOND-NEXT:         with T.init():
// BEYOND-NEXT:             B_rf[v_rf, vi] = 0.0
// BEYOND-NEXT:         v = vk_0 * 7 + v_rf
// BEYOND-NEXT:         B_rf[v_rf, vi] = B_rf[v_rf, vi] + T.if_then_else(vk_0 * 7 + v_rf < 96, A[vi, v], 0.0)

// Two predicates are refused: a part that is beyond the end by the outer one would not be initialized.
// RUN: not %{on:row_sum}=entry-point=twice 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: rfactor: block 'B' has several predicates, or loops within one: split its loops afterwards
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %k:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 16>} : (!op) -> (!op, !op)
    %r:2 = "tir.sch_rfactor"(%k#1) {axis = 0 : i64} : (!op) -> (!op, !op)
    %f:2 = "tir.sch_get_loops"(%r#1) : (!op) -> (!op, !op)
    "tir.sch_parallel"(%f#0) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @beyond(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %k:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 7>} : (!op) -> (!op, !op)
    %r:2 = "tir.sch_rfactor"(%k#1) {axis = 0 : i64} : (!op) -> (!op, !op)
    transform.yield
  }
  transform.named_sequence @twice(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %k:2 = "tir.sch_split"(%l#1) {factors = array<i64: 14, 8>} : (!op) -> (!op, !op)
    %p:2 = "tir.sch_split"(%k#1) {factors = array<i64: -1, 3>} : (!op) -> (!op, !op)
    %r:2 = "tir.sch_rfactor"(%k#0) {axis = 0 : i64} : (!op) -> (!op, !op)
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %r:2 = "tir.sch_rfactor"(%l#1) {axis = 0 : i64} : (!op) -> (!op, !op)
    transform.yield
  }
}

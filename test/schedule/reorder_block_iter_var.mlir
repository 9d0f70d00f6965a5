// reorder_block_iter_var: the block's axes come in another order; the loops stay.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vk, vi, vj = T.axis.remap("RSS", [k, i, j])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C[vi, vj] = 0.0
// CHECK-NEXT:         C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

// What is no order of all axes is refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: reorder_block_iter_var: [1, 0] is no order of the numbers of the axes of block 'C': 0 (vi), 1 (vj), 2 (vk)
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_reorder_block_iter_var"(%c) {order = array<i64: 2, 0, 1>} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_reorder_block_iter_var"(%c) {order = array<i64: 1, 0>} : (!op) -> ()
    transform.yield
  }
}

// storage_align: a step along an axis of a buffer is a number of elements modulo another one; the allocation grows when it is lowered.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})

// A parameter is stored as the caller has it.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: storage_align: 'D' is a parameter of the kernel, not a buffer of its own
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_storage_align"(%c) {at = 0 : i64, axis = -2 : i64, factor = 32 : i64, offset = 1 : i64} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_storage_align"(%d) {at = 0 : i64, axis = -2 : i64, factor = 32 : i64, offset = 1 : i64} : (!op) -> ()
    transform.yield
  }
}

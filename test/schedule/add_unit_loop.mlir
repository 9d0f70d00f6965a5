// add_unit_loop puts a loop of one step around a loop or a block.
// RUN: %{on:blur} | filecheck %s
// CHECK:      B = T.alloc_buffer((34,), "float32")
// CHECK-NEXT: for i in range(34):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi = T.axis.remap("S", [i])
// CHECK-NEXT:         B[vi] = A[vi] * 0.5
// CHECK-NEXT: for i in range(32):
// CHECK-NEXT:     for u in T.thread_binding(1, thread="blockIdx.x"):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi = T.axis.remap("S", [i])
// CHECK-NEXT:             C[vi] = B[vi] + B[vi + 1] + B[vi + 2]

// It takes a loop or a block.
// RUN: not %{on:blur}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: add_unit_loop: takes a loop or a block, this is the module
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %u = "tir.sch_add_unit_loop"(%c) : (!op) -> !op
    "tir.sch_bind"(%u) {thread = "blockIdx.x"} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %u = "tir.sch_add_unit_loop"(%kernel) : (!op) -> !op
    transform.yield
  }
}

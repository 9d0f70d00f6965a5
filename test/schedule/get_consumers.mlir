// get_consumers gives the blocks after that read what a block writes.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      C = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         C[vi, vj] = A[vi, vj] * 2.0 + 1.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = C[vi, vj] * C[vi, vj]

// Nobody reads an output: the handle stands for nothing.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: reverse_compute_inline: its handle stands for nothing; it is from %1 = "tir.sch_get_consumers"(%0) : (!transform.any_op) -> !transform.any_op
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %p = "tir.sch_get_consumers"(%c) : (!op) -> !op
    "tir.sch_reverse_compute_inline"(%p) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %p = "tir.sch_get_consumers"(%d) : (!op) -> !op
    "tir.sch_reverse_compute_inline"(%p) : (!op) -> ()
    transform.yield
  }
}

// reverse_compute_inline: the block that makes what this one reads does its work too.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      B = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         v = B[vi, vj] + 1.0
// CHECK-NEXT:         D[vi, vj] = v * v

// The value of a sum is known only when it is finished.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: reverse_compute_inline: the producer of 'C' is a reduction: its value is known only when it is finished (reverse_compute_at takes it then)
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_reverse_compute_inline"(%d) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_reverse_compute_inline"(%d) : (!op) -> ()
    transform.yield
  }
}

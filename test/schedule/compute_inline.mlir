// compute_inline: each read of what the block computes computes it itself.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      C = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         C[vi, vj] = A[vi, vj] * 2.0 + 1.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = C[vi, vj] * C[vi, vj]

// An output cannot go away.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: compute_inline: 'D' is a parameter of the kernel, not a buffer of its own
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    "tir.sch_compute_inline"(%b) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_compute_inline"(%d) : (!op) -> ()
    transform.yield
  }
}

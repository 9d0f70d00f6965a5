// compute_at: the block is computed inside the loop of its readers, as much as a step of it needs.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      B = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: C = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i in range(30):
// CHECK-NEXT:     for ax1 in range(40):
// CHECK-NEXT:         with T.block("B"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, ax1])
// CHECK-NEXT:             B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT:     for j in range(40):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:             C[vi, vj] = B[vi, vj] + 1.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = C[vi, vj] * C[vi, vj]

// An output has to be computed as a whole.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: compute_at: 'D' is an output of the kernel, all of it has to be computed
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
    "tir.sch_compute_at"(%b, %l#0) : (!op, !op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
    "tir.sch_compute_at"(%d, %l#0) : (!op, !op) -> ()
    transform.yield
  }
}

// get_producers gives the blocks in front that write what a block reads.
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

// It takes a block.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: get_producers: takes a block, this is the loop i
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %p = "tir.sch_get_producers"(%c) : (!op) -> !op
    "tir.sch_compute_inline"(%p) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
    %p = "tir.sch_get_producers"(%l#0) : (!op) -> !op
    transform.yield
  }
}

// get_output_blocks gives the blocks that write outputs of the kernel.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C[vi, vj] = 0.0
// CHECK-NEXT:         C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for i, j, u in T.grid(16, 32, 1):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// Under the first nest stands none.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: unroll: its handle stands for nothing; it is from %2 = "tir.sch_get_output_blocks"(%1#0) : (!transform.any_op) -> !transform.any_op
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_output_blocks"(%kernel) : (!op) -> !op
    %u = "tir.sch_add_unit_loop"(%d) : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %d = "tir.sch_get_output_blocks"(%l#0) : (!op) -> !op
    "tir.sch_unroll"(%d) : (!op) -> ()
    transform.yield
  }
}

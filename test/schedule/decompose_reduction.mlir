// decompose_reduction: the init becomes a block before the loop.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i in range(16):
// CHECK-NEXT:     for j_init in range(32):
// CHECK-NEXT:         with T.block("C_init"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, j_init])
// CHECK-NEXT:             C[vi, vj] = 0.0
// CHECK-NEXT:     for k, j in T.grid(24, 32):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// Inside a loop that is summed over the init would run again in each step.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: decompose_reduction: block 'C' also reduces over k, outside of j: the init would be run in each of its steps
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    "tir.sch_reorder"(%l#0, %l#2, %l#1) : (!op, !op, !op) -> ()
    %i = "tir.sch_decompose_reduction"(%c, %l#2) : (!op, !op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    "tir.sch_reorder"(%l#2, %l#0, %l#1) : (!op, !op, !op) -> ()
    %i = "tir.sch_decompose_reduction"(%c, %l#1) : (!op, !op) -> !op
    transform.yield
  }
}

// get_loops gives the loops around a block, outermost first: a handle for each, or one for all.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     for k in T.unroll(24):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:             with T.init():
// CHECK-NEXT:                 C[vi, vj] = 0.0
// CHECK-NEXT:             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for i in T.unroll(16):
// CHECK-NEXT:     for j in T.unroll(32):
// CHECK-NEXT:         with T.block("D"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:             D[vi, vj] = T.max(C[vi, vj], 0.0)

// As many handles as there are loops, or one.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: the step gives 3 handles, and the script takes 2
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    "tir.sch_unroll"(%l#2) : (!op) -> ()
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %all = "tir.sch_get_loops"(%d) : (!op) -> !op
    "tir.sch_unroll"(%all) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
    transform.yield
  }
}

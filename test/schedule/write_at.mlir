// write_at: the block writes a new buffer, of which each step of the loop copies what it has written.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      for i in range(16):
// CHECK-NEXT:     for j, k in T.grid(32, 24):
// CHECK-NEXT:         with T.block("C"):
// CHECK:                  C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT:     for ax1 in range(32):
// CHECK-NEXT:         with T.block("C_local"):
// CHECK-NEXT:             v0, v1 = T.axis.remap("SS", [i, ax1])
// CHECK-NEXT:             C[v0, v1] = C_local[v0, v1]

// A step in which the sum is not finished is refused; the kernel has no new buffer then.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: write_at: reverse_compute_at: block 'C' is not finished within a step of k: it reduces over k
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %a = "tir.sch_write_at"(%c, %l#0) {at = 0 : i64, scope = "local"} : (!op, !op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %a = "tir.sch_write_at"(%c, %l#2) {at = 0 : i64, scope = "local"} : (!op, !op) -> !op
    transform.yield
  }
}

// reindex: the block accesses a copy of a buffer whose dimensions are the axes of the block that its indices depend on.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: B_reindex = T.alloc_buffer((32, 24), "float32")
// CHECK-NEXT: C_reindex = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for ax0, ax1 in T.grid(32, 24):
// CHECK-NEXT:     with T.block("B_reindex"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         B_reindex[v0, v1] = B[v1, v0]
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C_reindex[vi, vj] = 0.0
// CHECK-NEXT:         C_reindex[vi, vj] = C_reindex[vi, vj] + A[vi, vk] * B_reindex[vj, vk]
// CHECK-NEXT: for ax0, ax1 in T.grid(16, 32):
// CHECK-NEXT:     with T.block("C_reindex"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         C[v0, v1] = C_reindex[v0, v1]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// A buffer that the block accesses at several places is refused.
// RUN: not %{on:blur}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: reindex: block 'C' accesses 'B' at several places in one step; it has to be one
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %b = "tir.sch_reindex"(%c) {at = 1 : i64, side = "read"} : (!op) -> !op
    %d = "tir.sch_reindex"(%c) {at = "C"} : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %b = "tir.sch_reindex"(%c) {at = "B"} : (!op) -> !op
    transform.yield
  }
}

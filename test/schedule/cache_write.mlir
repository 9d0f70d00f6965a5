// cache_write: the block writes a buffer of its own, from which another block copies.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: C_local = T.alloc_buffer((16, 32), "float32", scope="local")
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C_local[vi, vj] = 0.0
// CHECK-NEXT:         C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for ax0, ax1 in T.grid(16, 32):
// CHECK-NEXT:     with T.block("C_local"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         C[v0, v1] = C_local[v0, v1]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// The block writes one buffer.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: cache_write: block 'C' writes no buffer 1; it writes, from 0: C
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %w = "tir.sch_cache_write"(%c) {at = 0 : i64, scope = "local"} : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %w = "tir.sch_cache_write"(%c) {at = 1 : i64, scope = "local"} : (!op) -> !op
    transform.yield
  }
}

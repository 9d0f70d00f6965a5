// cache_read: the block reads a copy, in a scope, of a buffer, which is named by its number or its name.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: A_shared = T.alloc_buffer((16, 24), "float32", scope="shared")
// CHECK-NEXT: B_local = T.alloc_buffer((24, 32), "float32", scope="local")
// CHECK-NEXT: for ax0, ax1 in T.grid(16, 24):
// CHECK-NEXT:     with T.block("A_shared"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         A_shared[v0, v1] = A[v0, v1]
// CHECK-NEXT: for ax0, ax1 in T.grid(24, 32):
// CHECK-NEXT:     with T.block("B_local"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         B_local[v0, v1] = B[v0, v1]
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C[vi, vj] = 0.0
// CHECK-NEXT:         C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * B_local[vk, vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// A buffer that the block does not read is refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: cache_read: block 'C' reads no buffer 'D'; it reads, from 0: A, B
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %a = "tir.sch_cache_read"(%c) {at = 0 : i64, scope = "shared"} : (!op) -> !op
    %b = "tir.sch_cache_read"(%c) {at = "B", scope = "local"} : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %a = "tir.sch_cache_read"(%c) {at = "D", scope = "shared"} : (!op) -> !op
    transform.yield
  }
}

// pad: the block works on extents that are multiples of these; it reads 0 beyond, and what it writes there is dropped.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: A_pad = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for ax0, ax1 in T.grid(16, 32):
// CHECK-NEXT:     with T.block("A_pad"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         A_pad[v0, v1] = T.if_then_else(v1 < 24, A[v0, v1], 0.0)
// CHECK-NEXT: B_pad = T.alloc_buffer((32, 32), "float32")
// CHECK-NEXT: for ax0, ax1 in T.grid(32, 32):
// CHECK-NEXT:     with T.block("B_pad"):
// CHECK-NEXT:         v0, v1 = T.axis.remap("SS", [ax0, ax1])
// CHECK-NEXT:         B_pad[v0, v1] = T.if_then_else(v0 < 24, B[v0, v1], 0.0)
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 32):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C[vi, vj] = 0.0
// CHECK-NEXT:         C[vi, vj] = C[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// Beyond the end of a maximum 0 would be no neutral element.
// RUN: not %{on:row_max}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: pad: block 'B' is no sum of products, to which what is beyond would add nothing
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_pad"(%c) {sizes = array<i64: 16, 32, 16>} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    "tir.sch_pad"(%b) {sizes = array<i64: 8, 64>} : (!op) -> ()
    transform.yield
  }
}

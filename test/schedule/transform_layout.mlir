// transform_layout: a buffer gets another layout, and all who use it find it.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((4, 16, 8), "float32")
// CHECK-NEXT: for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C[T.truncdiv(vj, 8), vi, T.truncmod(vj, 8)] = 0.0
// CHECK-NEXT:         C[T.truncdiv(vj, 8), vi, T.truncmod(vj, 8)] = C[T.truncdiv(vj, 8), vi, T.truncmod(vj, 8)] + A[vi, vk] * B[vk, vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[T.truncdiv(vj, 8), vi, T.truncmod(vj, 8)], 0.0)

// A map that puts two elements into one place is refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: transform_layout: the map puts two elements into one place
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_transform_layout"(%c) {at = 0 : i64, map = affine_map<(i, j) -> (j floordiv 8, i, j mod 8)>} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_transform_layout"(%c) {at = 0 : i64, map = affine_map<(i, j) -> (i, j mod 8)>} : (!op) -> ()
    transform.yield
  }
}

// transform_block_layout: the block's axes become the results of a map, under new loops; its handle is the step's result.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      for ax0, ax1, ax2_0, ax2_1 in T.grid(512, 4, 2, 3):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         v0 = T.axis.spatial(512, ax0)
// CHECK-NEXT:         v1 = T.axis.reduce(4, ax1)
// CHECK-NEXT:         v2 = T.axis.reduce(6, ax2_0 * 3 + ax2_1)
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             C[T.truncdiv(v0, 32), T.truncmod(v0, 32)] = 0.0
// CHECK-NEXT:         C[T.truncdiv(v0, 32), T.truncmod(v0, 32)] = C[T.truncdiv(v0, 32), T.truncmod(v0, 32)] + A[T.truncdiv(v0, 32), v2 * 4 + v1] * B[v2 * 4 + v1, T.truncmod(v0, 32)]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):

// A map that leaves values out is refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: transform_block_layout: the map is not bijective for the extents 16, 32 of block 'D': an index of 32 values is not divided evenly
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %new = "tir.sch_transform_block_layout"(%c) {map = affine_map<(i, j, k) -> (i * 32 + j, k mod 4, k floordiv 4)>} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%new) : (!op) -> (!op, !op, !op)
    %s:2 = "tir.sch_split"(%l#2) {factors = array<i64: 2, 3>} : (!op) -> (!op, !op)
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %new = "tir.sch_transform_block_layout"(%d) {map = affine_map<(i, j) -> (i, j floordiv 5, j mod 5)>} : (!op) -> !op
    transform.yield
  }
}

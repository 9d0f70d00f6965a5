// blockize: what stands under the loop becomes one block, whose axes number the tiles.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i_0, j_0 in T.grid(4, 4):
// CHECK-NEXT:     with T.block("C_o"):
// CHECK-NEXT:         vio = T.axis.spatial(4, i_0)
// CHECK-NEXT:         vjo = T.axis.spatial(4, j_0)
// CHECK-NEXT:         vko = T.axis.reduce(1, 0)
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             for vi_init, vj_init in T.grid(4, 8):
// CHECK-NEXT:                 with T.block("C_init"):
// CHECK-NEXT:                     vi, vj = T.axis.remap("SS", [vi_init, vj_init])
// CHECK-NEXT:                     C[vio * 4 + vi, vjo * 8 + vj] = 0.0
// CHECK-NEXT:         for i_1, j_1, k in T.grid(4, 8, 24):
// CHECK-NEXT:             with T.block("C"):
// CHECK-NEXT:                 vi, vj, vk = T.axis.remap("SSR", [i_1, j_1, k])
// CHECK-NEXT:                 C[vio * 4 + vi, vjo * 8 + vj] = C[vio * 4 + vi, vjo * 8 + vj] + A[vio * 4 + vi, vko * 24 + vk] * B[vko * 24 + vk, vjo * 8 + vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// Tiles that are not all whole are refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: blockize: block 'D' has a predicate: its tiles are not all whole
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %i:2 = "tir.sch_split"(%l#0) {factors = array<i64: -1, 4>} : (!op) -> (!op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 8>} : (!op) -> (!op, !op)
    "tir.sch_reorder"(%i#0, %j#0, %i#1, %j#1, %l#2) : (!op, !op, !op, !op, !op) -> ()
    %o = "tir.sch_blockize"(%i#1) : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 5>} : (!op) -> (!op, !op)
    %o = "tir.sch_blockize"(%j#1) : (!op) -> !op
    transform.yield
  }
}

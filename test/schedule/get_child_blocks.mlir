// get_child_blocks gives the blocks that stand directly under a loop or a block: not those inside of them.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT: for i, j, u in T.grid(16, 32, 1):
// CHECK-NEXT:     with T.block("C_o"):
// CHECK-NEXT:         vio = T.axis.spatial(16, i)
// CHECK-NEXT:         vjo = T.axis.spatial(32, j)
// CHECK-NEXT:         vko = T.axis.reduce(1, 0)
// CHECK-NEXT:         with T.init():
// CHECK-NEXT:             for vi_init, vj_init in T.grid(1, 1):
// CHECK-NEXT:                 with T.block("C_init"):
// CHECK-NEXT:                     vi, vj = T.axis.remap("SS", [vi_init, vj_init])
// CHECK-NEXT:                     C[vio + vi, vjo + vj] = 0.0
// CHECK-NEXT:         for k, u_1 in T.grid(24, 1):
// CHECK-NEXT:             with T.block("C"):
// CHECK-NEXT:                 vi = T.axis.spatial(1, 0)
// CHECK-NEXT:                 vj = T.axis.spatial(1, 0)
// CHECK-NEXT:                 vk = T.axis.reduce(24, k)
// CHECK-NEXT:                 C[vio + vi, vjo + vj] = C[vio + vi, vjo + vj] + A[vio + vi, vko * 24 + vk] * B[vko * 24 + vk, vjo + vj]
// CHECK-NEXT: for i, j in T.grid(16, 32):
// CHECK-NEXT:     with T.block("D"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         D[vi, vj] = T.max(C[vi, vj], 0.0)

// What it finds has to be what the next step takes.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: compute_inline: block 'C' is a reduction, or writes more than once: it cannot stand in the place of a read
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %o = "tir.sch_blockize"(%l#2) : (!op) -> !op
    %inner:2 = "tir.sch_get_child_blocks"(%o) : (!op) -> (!op, !op)
    %u = "tir.sch_add_unit_loop"(%inner#1) : (!op) -> !op
    %outer = "tir.sch_get_child_blocks"(%l#0) : (!op) -> !op
    %v = "tir.sch_add_unit_loop"(%outer) : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %o = "tir.sch_get_child_blocks"(%l#0) : (!op) -> !op
    "tir.sch_compute_inline"(%o) : (!op) -> ()
    transform.yield
  }
}

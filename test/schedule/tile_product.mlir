// tile_product: a product in tiles of rows, columns and depth; beyond the ends of the operands their tiles are 0.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      A_shared = T.alloc_buffer((8, 8), "float32", scope="shared")
// CHECK-NEXT: B_shared = T.alloc_buffer((8, 16), "float32", scope="shared")
// CHECK-NEXT: C_local = T.alloc_buffer((8, 16), "float32", scope="local")
// CHECK-NEXT: for b, i, j in T.grid(1, 2, 2):
// CHECK-NEXT:     for m, n in T.grid(8, 16):
// CHECK-NEXT:         with T.block("C_init"):
// CHECK-NEXT:             vb, vi, vj, vm, vn = T.axis.remap("SSSSS", [b, i, j, m, n])
// CHECK-NEXT:             C_local[vm, vn] = 0.0
// CHECK-NEXT:     for l in range(3):
// CHECK-NEXT:         for m, k in T.grid(8, 8):
// CHECK-NEXT:             with T.block("C_left"):
// CHECK-NEXT:                 vb, vi, vl, vm, vk = T.axis.remap("SSSSS", [b, i, l, m, k])
// CHECK-NEXT:                 A_shared[vm, vk] = A[vi * 8 + vm, vl * 8 + vk]
// CHECK-NEXT:         for k, n in T.grid(8, 16):
// CHECK-NEXT:             with T.block("C_right"):
// CHECK-NEXT:                 vb, vj, vl, vk, vn = T.axis.remap("SSSSS", [b, j, l, k, n])
// CHECK-NEXT:                 B_shared[vk, vn] = B[vl * 8 + vk, vj * 16 + vn]
// CHECK-NEXT:         for m, n, k in T.grid(8, 16, 8):
// CHECK-NEXT:             with T.block("C"):
// CHECK-NEXT:                 vb, vi, vj, vl, vm, vn, vk = T.axis.remap("SSSRSSR", [b, i, j, l, m, n, k])
// CHECK-NEXT:                 C_local[vm, vn] = C_local[vm, vn] + A_shared[vm, vk] * B_shared[vk, vn]
// CHECK-NEXT:     for m, n in T.grid(8, 16):
// CHECK-NEXT:         with T.block("C_result"):
// CHECK-NEXT:             vb, vi, vj, vm, vn = T.axis.remap("SSSSS", [b, i, j, m, n])
// CHECK-NEXT:             D[vi * 8 + vm, vj * 16 + vn] = T.max(C_local[vm, vn], 0.0)

// A maximum of rows is no product.
// RUN: not %{on:row_max}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: tile_product: block 'B' is no sum of products of two elements: it does not read two elements
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %blocks:5 = "tir.sch_tile_product"(%c) {tiles = array<i64: 8, 16, 8>} : (!op) -> (!op, !op, !op, !op, !op)
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    "tir.sch_reverse_compute_inline"(%d) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %blocks:5 = "tir.sch_tile_product"(%b) {tiles = array<i64: 8, 16, 8>} : (!op) -> (!op, !op, !op, !op, !op)
    transform.yield
  }
}

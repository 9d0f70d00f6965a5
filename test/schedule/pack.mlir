// pack: what the block reads lies in tiles. A parameter is packed by who calls the kernel.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:          lv = R.reshape(B, shape=[3, 8, 2, 16])
// CHECK-NEXT:     lv_1 = R.permute_dims(lv, axes=[0, 2, 1, 3])
// CHECK-NEXT:     D = R.call_tir(Module.matmul_relu, (A, lv_1), R.Tensor((16, 32), "float32"))
// CHECK-NEXT:     return D
// CHECK:      @T.prim_func
// CHECK-NEXT: def matmul_relu(A: T.Buffer((16, 24), "float32"), B: T.Buffer((3, 2, 8, 16), "float32"), D: T.Buffer((16, 32), "float32")):
// CHECK-NEXT:     C = T.alloc_buffer((16, 32), "float32")
// CHECK-NEXT:     for i, j, k in T.grid(16, 32, 24):
// CHECK-NEXT:         with T.block("C"):
// CHECK-NEXT:             vi, vj, vk = T.axis.remap("SSR", [i, j, k])
// CHECK-NEXT:             with T.init():
// CHECK-NEXT:                 C[vi, vj] = 0.0
// CHECK-NEXT:             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[T.truncdiv(vk, 8), T.truncdiv(vj, 16), T.truncmod(vk, 8), T.truncmod(vj, 16)]
// CHECK-NEXT:     for i, j in T.grid(16, 32):
// CHECK-NEXT:         with T.block("D"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:             D[vi, vj] = T.max(C[vi, vj], 0.0)

// One size for each dimension.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: pack: 'B' is memref<24x32xf32>; [16] are no tiles of it
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_pack"(%c) {at = "B", tiles = array<i64: 8, 16>} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    "tir.sch_pack"(%c) {at = "B", tiles = array<i64: 16>} : (!op) -> ()
    transform.yield
  }
}

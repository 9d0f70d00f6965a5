// tensorize: what stands under the loop is done by an intrinsic, on the tiles of the buffers that its description touches.
// RUN: legato-opt %S/inputs/matmul_relu.mlir --load=%S/inputs/mma.py --transform-preload-library=transform-library-paths=%s \
// RUN:   --transform-interpreter --canonicalize --cse | filecheck %s
// CHECK: "tir.block"(%[[I:.*]], %[[J:.*]], %[[K:.*]]) ({
// CHECK-NEXT: ^bb0(
// CHECK: name = "C_init"
// CHECK: ^bb0(%[[VI:.*]]: index, %[[VJ:.*]]: index, %[[VK:.*]]: index):
// CHECK-DAG: memref.subview %{{.*}} [4, 4] [1, 1] : memref<16x32xf32> to memref<4x4xf32, strided<[32, 1], offset: ?>>
// CHECK-DAG: memref.subview %{{.*}} [4, 4] [1, 1] : memref<16x24xf32> to memref<4x4xf32, strided<[24, 1], offset: ?>>
// CHECK-DAG: memref.subview %{{.*}} [4, 4] [1, 1] : memref<24x32xf32> to memref<4x4xf32, strided<[32, 1], offset: ?>>
// CHECK: call @mma_4x4(
// CHECK: extents = array<i64: 4, 8, 6>, kinds = ["spatial", "spatial", "reduce"], name = "C_o"

// Loops that are not those of the intrinsic's description are refused.
// RUN: not legato-opt %S/inputs/matmul_relu.mlir --load=%S/inputs/mma.py --transform-preload-library=transform-library-paths=%s \
// RUN:   --transform-interpreter=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: tensorize: 'mma_4x4' is loops of [4, 4, 4] steps; under k are loops of [24]
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %i:2 = "tir.sch_split"(%l#0) {factors = array<i64: -1, 4>} : (!op) -> (!op, !op)
    %j:2 = "tir.sch_split"(%l#1) {factors = array<i64: -1, 4>} : (!op) -> (!op, !op)
    %k:2 = "tir.sch_split"(%l#2) {factors = array<i64: -1, 4>} : (!op) -> (!op, !op)
    "tir.sch_reorder"(%i#0, %j#0, %k#0, %i#1, %j#1, %k#1) : (!op, !op, !op, !op, !op, !op) -> ()
    %o = "tir.sch_tensorize"(%i#1) {intrinsic = "mma_4x4"} : (!op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %o = "tir.sch_tensorize"(%l#2) {intrinsic = "mma_4x4"} : (!op) -> !op
    transform.yield
  }
}

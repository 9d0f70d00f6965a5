// RUN: legato-opt %s --tir-extract-workspaces | filecheck %s
// RUN: legato-opt %s --tir-extract-workspaces=stack-bytes=0 | filecheck %s --check-prefix=NONE

// Small buffers go on the stack, larger ones become arguments that the caller allocates.
// CHECK-LABEL: func.func private @kernel(%arg0: memref<4xf32> {tir.out}, %arg1: memref<65536xf32>)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// NONE-LABEL: func.func private @kernel(
// NONE-SAME: memref<8xf32>
// NONE-NOT: memref.alloca
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = memref.alloc() {alignment = 64 : i64} : memref<65536xf32>
// CHECK: call @kernel(%arg0, %[[W]])
func.func private @kernel(%out: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %small = memref.alloc() : memref<8xf32>
  %large = memref.alloc() : memref<65536xf32>
  linalg.fill ins(%zero : f32) outs(%small : memref<8xf32>)
  linalg.fill ins(%zero : f32) outs(%large : memref<65536xf32>)
  return
}
func.func @main(%out: memref<4xf32>) {
  call @kernel(%out) : (memref<4xf32>) -> ()
  return
}

// RUN: legato-opt %s --tir-fill-memory | filecheck %s
// RUN: legato-compile --print-pipeline=bufferized --target 'llvm{fill-memory=true}' | filecheck %s --check-prefix=ON
// RUN: legato-compile --print-pipeline=bufferized --target llvm | filecheck %s --check-prefix=OFF

// Fresh memory holds NaNs, or bytes 0xAB, from where it is allocated on; views and arguments are not fresh.
// ON: tir-extract-workspaces
// ON-NEXT: cse
// ON-NEXT: tir-results-in-place
// ON-NEXT: tir-fill-memory
// ON-NEXT: tir-plan-memory
// OFF-NOT: tir-fill-memory

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// CHECK: linalg.fill ins(%[[NAN]] : f32) outs(%[[A]] : memref<4xf32>)
// CHECK: %[[B:.*]] = memref.alloc(%arg1) : memref<?xi16>
// CHECK: %[[BYTES:.*]] = arith.constant -21589 : i16
// CHECK: linalg.fill ins(%[[BYTES]] : i16) outs(%[[B]] : memref<?xi16>)
// CHECK: call @kernel
func.func @main(%x: memref<4xf32>, %n: index) -> memref<4xf32> {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc(%n) : memref<?xi16>
  call @kernel(%x, %b, %a) : (memref<4xf32>, memref<?xi16>, memref<4xf32>) -> ()
  return %a : memref<4xf32>
}
// CHECK-LABEL: func.func private @kernel
// CHECK: %[[L:.*]] = memref.alloca() : memref<8xi1>
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: linalg.fill ins(%[[TRUE]] : i1) outs(%[[L]] : memref<8xi1>)
// CHECK-NOT: linalg.fill
func.func private @kernel(%x: memref<4xf32>, %b: memref<?xi16>, %a: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
  %l = memref.alloca() : memref<8xi1>
  %s = memref.subview %x[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  return
}

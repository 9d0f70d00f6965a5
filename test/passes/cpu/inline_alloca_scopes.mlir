// RUN: legato-opt %s --tir-inline-alloca-scopes | filecheck %s

// CHECK-LABEL: func.func @scope
// CHECK-NEXT: %[[STACK:.*]] = llvm.intr.stacksave : !llvm.ptr
// CHECK-NEXT: %[[BUFFER:.*]] = memref.alloca
// CHECK-NEXT: %[[VALUE:.*]] = memref.load %[[BUFFER]]
// CHECK-NEXT: llvm.intr.stackrestore %[[STACK]]
// CHECK-NEXT: return %[[VALUE]]
func.func @scope(%i: index) -> f32 {
  %0 = memref.alloca_scope -> (f32) {
    %b = memref.alloca() : memref<8xf32>
    %v = memref.load %b[%i] : memref<8xf32>
    memref.alloca_scope.return %v : f32
  }
  return %0 : f32
}

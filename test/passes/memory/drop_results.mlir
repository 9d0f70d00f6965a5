// RUN: legato-opt %s --tir-drop-results --split-input-file --verify-diagnostics | filecheck %s

// Kernels and declarations that write their outputs return nothing; readers of a result read the output; calls keep their attributes. A
// stand-in for the body of a declaration is removed.
// CHECK-LABEL: func.func private @kernel(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32> {tir.out}) attributes
// CHECK: func.func private @declared(memref<4xf32>, memref<4xf32> {tir.out}) attributes
// CHECK: func.func private @stood_for(memref<4xf32>, memref<4xf32> {tir.out}) attributes {relax.packed = "g"}
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: call @kernel(%arg0, %[[A]]) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK: call @declared(%[[A]], %[[B:.*]]) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK: return %[[B]]
func.func private @kernel(%x: memref<4xf32>, %out: memref<4xf32> {tir.out}) -> memref<4xf32> attributes {tir.prim_func} {
  linalg.exp ins(%x : memref<4xf32>) outs(%out : memref<4xf32>)
  return %out : memref<4xf32>
}
func.func private @declared(memref<4xf32>, memref<4xf32> {tir.out}) -> memref<4xf32> attributes {relax.packed = "f"}
func.func private @stood_for(%x: memref<4xf32>, %out: memref<4xf32> {tir.out}) -> memref<4xf32> attributes {relax.packed = "g", tir.stand_in} {
  return %out : memref<4xf32>
}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  %a = memref.alloc() : memref<4xf32>
  %0 = call @kernel(%x, %a) : (memref<4xf32>, memref<4xf32>) -> memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  %1 = call @declared(%0, %b) : (memref<4xf32>, memref<4xf32>) -> memref<4xf32>
  return %1 : memref<4xf32>
}

// -----

// expected-error@+1 {{the result that belongs into output 1 was not computed there}}
func.func private @kernel(%x: memref<4xf32>, %out: memref<4xf32> {tir.out}) -> memref<4xf32> attributes {tir.prim_func} {
  return %x : memref<4xf32>
}

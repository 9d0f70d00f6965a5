// RUN: legato-opt %s --tir-results-in-place | filecheck %s

// Of two buffers, one is written in the memory of the other, which nobody reads again, also through views of all elements.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = memref.alloc() : memref<4x8xf32>
// CHECK: call @make(%arg0, %[[A]])
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %[[A]]
// CHECK: %[[OUT:.*]] = memref.collapse_shape %[[A]]
// CHECK: call @add(%arg1, %[[FLAT]], %[[OUT]])
func.func private @make(%x: memref<4x8xf32>, %out: memref<4x8xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @add(%x: memref<32xf32>, %y: memref<32xf32> {tir.holds_result}, %out: memref<32xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @plus(%x: memref<4x8xf32> {tir.holds_result}, %y: memref<4x8xf32> {tir.holds_result}, %out: memref<4x8xf32> {tir.out})
    attributes {tir.prim_func} { return }
func.func private @half(%x: memref<4x8xf32>, %out: memref<2x8xf32> {tir.out}) attributes {tir.prim_func, tir.piece = 0} { return }
func.func private @two(%x: memref<2x8xf32>, %y: memref<4x8xf32>, %out: memref<4x8xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<4x8xf32>, %y: memref<32xf32>) -> memref<4x8xf32> {
  %a = memref.alloc() : memref<4x8xf32>
  call @make(%x, %a) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  %b = memref.alloc() : memref<4x8xf32>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  %out = memref.collapse_shape %b [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  call @add(%y, %flat, %out) : (memref<32xf32>, memref<32xf32>, memref<32xf32>) -> ()

  // The second operand is read once more, so that the result lies in the first one.
  // CHECK: %[[C:.*]] = memref.alloc() : memref<4x8xf32>
  // CHECK: call @make(%[[A]], %[[C]])
  // CHECK: call @plus(%[[C]], %[[A]], %[[C]])
  %c = memref.alloc() : memref<4x8xf32>
  call @make(%b, %c) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  %d = memref.alloc() : memref<4x8xf32>
  call @plus(%c, %b, %d) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()

  // Not in a buffer that is read twice by the call, nor in the caller's, nor in one of which a part is somebody's buffer.
  // CHECK: %[[E:.*]] = memref.alloc() : memref<4x8xf32>
  // CHECK: call @plus(%[[A]], %[[A]], %[[E]])
  // CHECK: %[[F:.*]] = memref.alloc() : memref<4x8xf32>
  // CHECK: call @plus(%arg0, %[[C]], %[[F]])
  // CHECK: %[[G:.*]] = memref.alloc() : memref<2x8xf32>
  // CHECK: call @half(%[[E]], %[[G]])
  // CHECK: call @plus(%[[E]], %[[F]], %[[F]])
  // CHECK: %[[H:.*]] = memref.alloc() : memref<4x8xf32>
  // CHECK: call @two(%[[G]], %[[F]], %[[H]])
  // CHECK: call @plus(%[[H]], %[[C]], %[[H]])
  %e = memref.alloc() : memref<4x8xf32>
  call @plus(%b, %b, %e) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %f = memref.alloc() : memref<4x8xf32>
  call @plus(%x, %d, %f) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %g = memref.alloc() : memref<2x8xf32>
  call @half(%e, %g) : (memref<4x8xf32>, memref<2x8xf32>) -> ()
  %h = memref.alloc() : memref<4x8xf32>
  call @plus(%e, %f, %h) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %i = memref.alloc() : memref<4x8xf32>
  call @two(%g, %h, %i) : (memref<2x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %j = memref.alloc() : memref<4x8xf32>
  call @plus(%i, %d, %j) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()

  // What main returns lies in the caller's memory.
  // CHECK: %[[R:.*]] = memref.alloc() : memref<4x8xf32>
  // CHECK: call @plus(%[[H]], %arg0, %[[R]])
  // CHECK: return %[[R]]
  %r = memref.alloc() : memref<4x8xf32>
  call @plus(%j, %x, %r) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  return %r : memref<4x8xf32>
}

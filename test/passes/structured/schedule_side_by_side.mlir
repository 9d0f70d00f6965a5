// RUN: legato-opt %s --tir-schedule='target=llvm{cpu=x86-64-v4 threads=2}' | filecheck %s

// The kernel of loops that run side by side is for one thread.
// CHECK-LABEL: func.func private @inside
// CHECK-NOT: scf.forall
// CHECK: vector.
// CHECK: return
func.func private @inside(%a: tensor<128x128xf32>, %b: tensor<128x128xf32>, %out: tensor<128x128xf32> {tir.out, bufferization.writable = true}) -> tensor<128x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<128x128xf32>, tensor<128x128xf32>) outs(%0 : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %1 : tensor<128x128xf32>
}

// That which is called outside, too, is for both threads.
// CHECK-LABEL: func.func private @everywhere
// CHECK: scf.forall
func.func private @everywhere(%a: tensor<256x128xf32>, %b: tensor<128x128xf32>, %out: tensor<256x128xf32> {tir.out, bufferization.writable = true}) -> tensor<256x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<256x128xf32>) -> tensor<256x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<256x128xf32>, tensor<128x128xf32>) outs(%0 : tensor<256x128xf32>) -> tensor<256x128xf32>
  return %1 : tensor<256x128xf32>
}

// Threads are awake for a kernel of a loop: they share a product of one row, which they do not outside.
// CHECK-LABEL: func.func private @row
// CHECK: scf.forall
// CHECK-LABEL: func.func private @row_outside
// CHECK-NOT: scf.forall
// CHECK-LABEL: func.func @main
func.func private @row(%a: tensor<1x256xf32>, %b: tensor<256x512xf32>, %out: tensor<1x512xf32> {tir.out, bufferization.writable = true}) -> tensor<1x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x512xf32>) -> tensor<1x512xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<1x256xf32>, tensor<256x512xf32>) outs(%0 : tensor<1x512xf32>) -> tensor<1x512xf32>
  return %1 : tensor<1x512xf32>
}
func.func private @row_outside(%a: tensor<1x248xf32>, %b: tensor<248x512xf32>, %out: tensor<1x512xf32> {tir.out, bufferization.writable = true}) -> tensor<1x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x512xf32>) -> tensor<1x512xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<1x248xf32>, tensor<248x512xf32>) outs(%0 : tensor<1x512xf32>) -> tensor<1x512xf32>
  return %1 : tensor<1x512xf32>
}

func.func @rows(%x: tensor<1x248xf32>, %v: tensor<248x512xf32>, %w: tensor<256x512xf32>, %y: tensor<1x256xf32>) -> tensor<1x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty() : tensor<1x512xf32>
  %0 = func.call @row_outside(%x, %v, %e) : (tensor<1x248xf32>, tensor<248x512xf32>, tensor<1x512xf32>) -> tensor<1x512xf32>
  %1 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %0) -> (tensor<1x512xf32>) {
    %2 = func.call @row(%y, %w, %a) : (tensor<1x256xf32>, tensor<256x512xf32>, tensor<1x512xf32>) -> tensor<1x512xf32>
    scf.yield %2 : tensor<1x512xf32>
  }
  return %1 : tensor<1x512xf32>
}

func.func @main(%x: tensor<128x128xf32>, %y: tensor<256x128xf32>) -> (tensor<128x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty() : tensor<128x128xf32>
  %f = tensor.empty() : tensor<256x128xf32>
  %0:2 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<128x128xf32>, tensor<256x128xf32>) {
    %2 = func.call @inside(%a, %x, %e) : (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %3 = func.call @everywhere(%b, %x, %f) : (tensor<256x128xf32>, tensor<128x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
    scf.yield %2, %3 : tensor<128x128xf32>, tensor<256x128xf32>
  } {tir.side_by_side = 0 : i64}
  %1 = func.call @everywhere(%y, %x, %f) : (tensor<256x128xf32>, tensor<128x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
  return %0#0, %0#1, %1 : tensor<128x128xf32>, tensor<256x128xf32>, tensor<256x128xf32>
}

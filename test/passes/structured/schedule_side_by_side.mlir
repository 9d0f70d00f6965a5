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

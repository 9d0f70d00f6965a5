// RUN: legato-opt %s --tir-schedule=target=llvm{cpu=x86-64-v3} | filecheck %s
// RUN: legato-opt %s --tir-schedule=target=generic | filecheck %s --check-prefix=NONE

// A kernel is tiled and vectorized by the transform script that its target has for it; a target without schedules leaves it as it is.
// CHECK-LABEL: func.func private @kernel
// CHECK-NOT: linalg.matmul
// CHECK: vector.contract
// NONE: linalg.matmul
func.func private @kernel(%x: tensor<16x64xf32>, %w: tensor<64x64xf32>, %out: tensor<16x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<16x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<16x64xf32>) -> tensor<16x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %1 : tensor<16x64xf32>
}

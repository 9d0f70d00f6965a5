// RUN: legato-opt %s --tir-group-factors=target=llvm{cpu=sapphirerapids} --split-input-file | filecheck %s
// RUN: legato-opt %s --tir-group-factors=target=llvm{cpu=znver4} --split-input-file | filecheck %s --check-prefix=VECTORS
// RUN: legato-opt %s --tir-group-factors=target=llvm{cpu=x86-64-v4} --split-input-file | filecheck %s --check-prefix=WITHOUT
// Where the CPU multiplies matrices of pairs, products of bf16 by constant weights read pairs along the reduction; where it multiplies pairs
// in the lanes of vectors (VECTORS), products of a single row, too.

// CHECK: affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK: affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
// CHECK-LABEL: func.func private @matmul
// CHECK-DAG: tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]] {{.*}} : tensor<?x64xbf16> into tensor<?x32x2xbf16>
// CHECK-DAG: tensor.expand_shape %arg1 {{\[\[}}0, 1], [2]] {{.*}} : tensor<64x96xbf16> into tensor<32x2x96xbf16>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]{{.*}} ins(%{{.*}} : tensor<?x32x2xbf16>, tensor<32x2x96xbf16>)
// WITHOUT-NOT: tensor.expand_shape
func.func @main(%x: tensor<?x64xbf16>, %y: tensor<16x64xbf16>, %one: tensor<1x64xbf16>, %v: tensor<64x96xbf16>, %a: tensor<?x96xf32>, %b: tensor<16x96xf32>,
                %c: tensor<1x96xf32>) -> (tensor<?x96xf32>, tensor<16x96xf32>, tensor<1x96xf32>) attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<64x96xbf16>} : () -> tensor<64x96xbf16>
  %0 = call @matmul(%x, %w, %a) : (tensor<?x64xbf16>, tensor<64x96xbf16>, tensor<?x96xf32>) -> tensor<?x96xf32>
  %1 = call @variable(%y, %v, %b) : (tensor<16x64xbf16>, tensor<64x96xbf16>, tensor<16x96xf32>) -> tensor<16x96xf32>
  %2 = call @row(%one, %w, %c) : (tensor<1x64xbf16>, tensor<64x96xbf16>, tensor<1x96xf32>) -> tensor<1x96xf32>
  return %0, %1, %2 : tensor<?x96xf32>, tensor<16x96xf32>, tensor<1x96xf32>
}
func.func private @matmul(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %out: tensor<?x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x96xf32>) -> tensor<?x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x96xbf16>) outs(%0 : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %1 : tensor<?x96xf32>
}

// A weight that is known at run time only is not packed, and a single row is read faster by vectors.
// CHECK-LABEL: func.func private @variable
// CHECK: linalg.matmul
func.func private @variable(%x: tensor<16x64xbf16>, %w: tensor<64x96xbf16>, %out: tensor<16x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<16x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<16x96xf32>) -> tensor<16x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<16x64xbf16>, tensor<64x96xbf16>) outs(%0 : tensor<16x96xf32>) -> tensor<16x96xf32>
  return %1 : tensor<16x96xf32>
}
// CHECK-LABEL: func.func private @row
// CHECK: linalg.matmul
// VECTORS-LABEL: func.func private @matmul
// VECTORS: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x32x2xbf16>, tensor<32x2x96xbf16>)
// VECTORS-LABEL: func.func private @variable
// VECTORS: linalg.matmul
// VECTORS-LABEL: func.func private @row
// VECTORS: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x32x2xbf16>, tensor<32x2x96xbf16>)
func.func private @row(%x: tensor<1x64xbf16>, %w: tensor<64x96xbf16>, %out: tensor<1x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x96xf32>) -> tensor<1x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<1x64xbf16>, tensor<64x96xbf16>) outs(%0 : tensor<1x96xf32>) -> tensor<1x96xf32>
  return %1 : tensor<1x96xf32>
}

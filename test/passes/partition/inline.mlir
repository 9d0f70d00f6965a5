// RUN: legato-opt %s --relax-inline | filecheck %s

// Private functions of graph ops vanish, those that they call too; kernels and what belongs to a backend stay.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: "relax.tanh"
// CHECK-NEXT: "relax.exp"
// CHECK-NEXT: call @npu_f
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: call @kernel
// CHECK-NEXT: return
// CHECK-NOT: @outer
// CHECK-NOT: @inner
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @npu_f(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %2 = call @kernel(%1, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.composite = "npu.inner"} {
  %0 = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @npu_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} { return %x : tensor<4xf32> }
func.func private @kernel(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

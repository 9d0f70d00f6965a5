// RUN: not legato-opt %s --tir-lower=target=llvm 2>&1 | filecheck %s

// What has no lowering is named: translation to LLVM would crash on it.
// CHECK: has no lowering to LLVM
func.func @main(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %x[%c0] : tensor<4xf32>
  return %0 : f32
}

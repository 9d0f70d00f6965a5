// Out and back: the module is what it was, kernels and several backends included.
// RUN: legato-opt %s > %t.before
// RUN: legato-opt %s --load %S/inputs/npu.py --relax-fuse-by-pattern=backend=npu --relax-merge-composites --relax-fuse-by-pattern=backend=dsp --relax-merge-composites --relax-outline-external -o %t.out
// RUN: filecheck %s < %t.out
// RUN: legato-opt %t.out --relax-inline-external > %t.after
// RUN: diff %t.before %t.after
// Composites that were not outlined go back, too.
// RUN: legato-opt %s --load %S/inputs/npu.py --relax-fuse-by-pattern=backend=npu --relax-merge-composites --relax-inline-external > %t.after
// RUN: diff %t.before %t.after
// One backend's only.
// RUN: legato-opt %t.out --relax-inline-external=backend=dsp | filecheck %s --check-prefix=ONE

// CHECK: call @npu_part_0
// CHECK: call @dsp_tail_0
// CHECK: module @npu
// CHECK: func.func private @kernel_matmul
// CHECK: module @dsp
// ONE: call @npu_part_0
// ONE: "relax.tanh"
// ONE-NOT: module @dsp
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<8x8xf32>} : () -> tensor<8x8xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %v = "relax.constant"() {value = dense<2.0> : tensor<8x16xf32>} : () -> tensor<8x16xf32>
  %e = tensor.empty() : tensor<4x16xf32>
  %1 = call @kernel_matmul(%0, %v, %e) : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = "relax.add"(%1, %1) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = "relax.tanh"(%2) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}
func.func private @kernel_matmul(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %out: tensor<4x16xf32> {tir.out}) -> tensor<4x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

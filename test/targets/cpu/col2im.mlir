// RUN: legato-opt %s --relax-legalize="target=llvm{threads=2}" | filecheck %s
// RUN: legato-opt %s --relax-legalize="target=generic" | filecheck %s --check-prefix=GENERIC

// Planes are shared by threads. The first of three taps covers all elements but the first, which lies in the padding before its first place.
// CHECK-LABEL: func.func private @kernel_col2im
// CHECK: scf.forall
// CHECK: linalg.fill
// CHECK: tensor.extract_slice {{.*}}[%{{.*}}, 0, 1] [1, 1, 4999] [1, 1, 1] : tensor<64x3x5000xf32>
// CHECK: tensor.extract_slice {{.*}}[0, 0] [1, 4999] [1, 1]
// CHECK: linalg.generic
// CHECK: tensor.extract_slice {{.*}}[%{{.*}}, 1, 0] [1, 1, 5000] [1, 1, 1]
// CHECK: tensor.extract_slice {{.*}}[%{{.*}}, 2, 0] [1, 1, 4999] [1, 1, 1]
// CHECK: tensor.extract_slice {{.*}}[0, 1] [1, 4999] [1, 1]
// Elsewhere each element looks for the blocks that cover it.
// GENERIC-LABEL: func.func private @kernel_col2im
// GENERIC: linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"]
// GENERIC: tensor.extract
// GENERIC: arith.select
func.func @main(%x: tensor<2x32x3x5000xf32>) -> tensor<2x32x5000xf32> {
  %0 = "relax.col2im"(%x) {size = #relax.dims<[5000]>, strides = array<i64: 1>, padding = array<i64: 1, 1>, dilations = array<i64: 1>}
    : (tensor<2x32x3x5000xf32>) -> tensor<2x32x5000xf32>
  return %0 : tensor<2x32x5000xf32>
}

// RUN: legato-opt %s --relax-legalize=target=llvm{cpu=znver4} | filecheck %s
// RUN: legato-opt %s --relax-legalize=target=nvvm | filecheck %s --check-prefix=GPU

// On CPUs a batch's depth is split into lanes of four bytes, or two integers of 16 bits; not in other layouts, nor on GPUs.
// CHECK-LABEL: func.func private @kernel_matmul_integer(
// CHECK: tensor.expand_shape %arg0 {{.*}} : tensor<2x5x8xi8> into tensor<2x5x2x4xi8>
// CHECK: tensor.expand_shape %arg1 {{.*}} : tensor<2x8x9xi8> into tensor<2x2x4x9xi8>
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK-LABEL: func.func private @kernel_matmul_integer_0(
// CHECK: tensor.expand_shape %arg1 {{.*}} : tensor<2x8x9xi16> into tensor<2x4x2x9xi16>
// CHECK-LABEL: func.func private @kernel_matmul_integer_1(
// CHECK-NOT: tensor.expand_shape
// CHECK: return
// GPU-NOT: tensor.expand_shape
func.func @main(%x: tensor<2x5x8xui8>, %y: tensor<2x8x9xi8>, %s: tensor<2x5x8xi16>, %t: tensor<2x8x9xi16>, %z: tensor<2x9x8xi8>)
    -> (tensor<2x5x9xi32>, tensor<2x5x9xi32>, tensor<2x5x9xi32>) {
  %0 = "relax.matmul_integer"(%x, %y) : (tensor<2x5x8xui8>, tensor<2x8x9xi8>) -> tensor<2x5x9xi32>
  %1 = "relax.matmul_integer"(%s, %t) : (tensor<2x5x8xi16>, tensor<2x8x9xi16>) -> tensor<2x5x9xi32>
  %2 = "relax.matmul_integer"(%x, %z) {kernel_layout = "OI"} : (tensor<2x5x8xui8>, tensor<2x9x8xi8>) -> tensor<2x5x9xi32>
  return %0, %1, %2 : tensor<2x5x9xi32>, tensor<2x5x9xi32>, tensor<2x5x9xi32>
}

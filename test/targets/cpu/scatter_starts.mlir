// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" --canonicalize | filecheck %s

// Updates of equal elements: the output is filled and updated in place, without a constant as large.
// CHECK-LABEL: func.func private @kernel_scatter_elements(%arg0: tensor<3xi64>, %arg1: tensor<3xf32>, %arg2: tensor<5000xf32>
// CHECK: %[[F:.*]] = linalg.fill {{.*}} outs(%arg2 : tensor<5000xf32>)
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[F]])
func.func @main(%indices: tensor<3xi64>, %updates: tensor<3xf32>) -> tensor<5000xf32> {
  %x = "relax.constant"() {value = dense<0.0> : tensor<5000xf32>} : () -> tensor<5000xf32>
  %0 = "relax.scatter_elements"(%x, %indices, %updates) : (tensor<5000xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<5000xf32>
  return %0 : tensor<5000xf32>
}

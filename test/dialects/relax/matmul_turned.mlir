// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK: "relax.matmul_turned"(%arg0, %arg1) : (tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, tensor<3x4xf32>) -> tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>>
func.func @matmul(%a: tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, %b: tensor<3x4xf32>) -> tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>> {
  %0 = "relax.matmul_turned"(%a, %b) : (tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, tensor<3x4xf32>) -> tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>>
  return %0 : tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>>
}

// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @matmul(
// CHECK: "relax.matmul"(%arg0, %arg1) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?xf32, #relax.dims<["n", "k"]>>
func.func @matmul(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?xf32, #relax.dims<["n", "k"]>> {
  %0 = "relax.matmul"(%arg0, %arg1) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?xf32, #relax.dims<["n", "k"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "k"]>>
}

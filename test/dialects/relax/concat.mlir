// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @concat(
// CHECK: tensor.concat dim(1) %arg0, %arg1 : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<?x?xf32, #relax.dims<["n", "k"]>>) -> tensor<?x?xf32, #relax.dims<["n", "k + m"]>>
func.func @concat(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>, %arg1: tensor<?x?xf32, #relax.dims<["n", "k"]>>) -> tensor<?x?xf32, #relax.dims<["n", "k + m"]>> {
  %concat = tensor.concat dim(1) %arg0, %arg1 : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<?x?xf32, #relax.dims<["n", "k"]>>) -> tensor<?x?xf32, #relax.dims<["n", "k + m"]>>
  return %concat : tensor<?x?xf32, #relax.dims<["n", "k + m"]>>
}

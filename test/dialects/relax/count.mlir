// RUN: legato-opt %s | legato-opt | filecheck %s

// CHECK: "relax.nonzero"(%arg0) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
func.func @nonzero(%x: tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>> {
  %0 = "relax.nonzero"(%x) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
  return %0 : tensor<2x?xi64, #relax.dims<[2, "m"]>>
}

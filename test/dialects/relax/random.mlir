// RUN: legato-opt %s | filecheck %s

// CHECK-LABEL: @random_bits(
// CHECK: "relax.random_bits"(%arg0) {dtype = ui64, shape = #relax.dims<["n + 1", 4]>} : (tensor<ui64>) -> tensor<?x4xui64, #relax.dims<["n + 1", 4]>>
// CHECK: "relax.random_bits"(%arg0) {shape = #relax.dims<[]>} : (tensor<ui64>) -> tensor<ui32>
func.func @random_bits(%key: tensor<ui64>, %x: tensor<?xf32, #relax.dims<["n"]>>) -> (tensor<?x4xui64, #relax.dims<["n + 1", 4]>>, tensor<ui32>) {
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<["n + 1", 4]>, dtype = ui64} : (tensor<ui64>) -> tensor<?x4xui64, #relax.dims<["n + 1", 4]>>
  %1 = "relax.random_bits"(%key) {shape = #relax.dims<[]>} : (tensor<ui64>) -> tensor<ui32>
  return %0, %1 : tensor<?x4xui64, #relax.dims<["n + 1", 4]>>, tensor<ui32>
}

// CHECK-LABEL: @fold_in(
// CHECK: "relax.fold_in"(%arg0, %arg1) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
func.func @fold_in(%key: tensor<ui64>, %number: tensor<ui64>) -> tensor<ui64> {
  %0 = "relax.fold_in"(%key, %number) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
  return %0 : tensor<ui64>
}

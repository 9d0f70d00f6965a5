// RUN: legato-opt %s | filecheck %s

// CHECK-LABEL: @random_bits(
// CHECK: "relax.random_bits"(%arg0) {dtype = ui64, shape = #relax.dims<["n + 1", 4]>} : (tensor<2xui32>) -> tensor<?x4xui64, #relax.dims<["n + 1", 4]>>
// CHECK: "relax.random_bits"(%arg0) {shape = #relax.dims<[]>} : (tensor<2xui32>) -> tensor<ui32>
func.func @random_bits(%key: tensor<2xui32>, %x: tensor<?xf32, #relax.dims<["n"]>>) -> (tensor<?x4xui64, #relax.dims<["n + 1", 4]>>, tensor<ui32>) {
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<["n + 1", 4]>, dtype = ui64} : (tensor<2xui32>) -> tensor<?x4xui64, #relax.dims<["n + 1", 4]>>
  %1 = "relax.random_bits"(%key) {shape = #relax.dims<[]>} : (tensor<2xui32>) -> tensor<ui32>
  return %0, %1 : tensor<?x4xui64, #relax.dims<["n + 1", 4]>>, tensor<ui32>
}

// CHECK-LABEL: @fold_in(
// CHECK: "relax.fold_in"(%arg0, %arg1) : (tensor<2xui32>, tensor<ui32>) -> tensor<2xui32>
func.func @fold_in(%key: tensor<2xui32>, %number: tensor<ui32>) -> tensor<2xui32> {
  %0 = "relax.fold_in"(%key, %number) : (tensor<2xui32>, tensor<ui32>) -> tensor<2xui32>
  return %0 : tensor<2xui32>
}

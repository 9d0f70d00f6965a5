// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @matmul(
// CHECK: "relax.matmul_integer"(%arg0, %arg1) : (tensor<?x4xui8, #relax.dims<["n", 4]>>, tensor<4x3xi8>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
func.func @matmul(%a: tensor<?x4xui8, #relax.dims<["n", 4]>>, %b: tensor<4x3xi8>) -> tensor<?x3xi32, #relax.dims<["n", 3]>> {
  %0 = "relax.matmul_integer"(%a, %b) : (tensor<?x4xui8, #relax.dims<["n", 4]>>, tensor<4x3xi8>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
  return %0 : tensor<?x3xi32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: @conv2d(
// CHECK: "relax.conv2d_integer"(%arg0, %arg1) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>}
func.func @conv2d(%x: tensor<1x9x9x4xi8>, %w: tensor<3x3x4x8xi8>) -> tensor<1x4x4x8xi32> {
  %0 = "relax.conv2d_integer"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>} : (tensor<1x9x9x4xi8>, tensor<3x3x4x8xi8>) -> tensor<1x4x4x8xi32>
  return %0 : tensor<1x4x4x8xi32>
}

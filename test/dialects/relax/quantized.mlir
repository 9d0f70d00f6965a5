// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @four_bits(
// CHECK: "relax.matmul_quantized"(%arg0, %arg1, %arg2, %arg3) {bits = 4 : i64, columns = 20 : i64}
func.func @four_bits(%x: tensor<?x64xf32, #relax.dims<["n", 64]>>, %w: tensor<2x2x4x16xi32>, %s: tensor<2x2x16xf16>, %z: tensor<0xf32>) -> tensor<?x20xf32, #relax.dims<["n", 20]>> {
  %0 = "relax.matmul_quantized"(%x, %w, %s, %z) {bits = 4 : i64, columns = 20 : i64} : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<2x2x4x16xi32>, tensor<2x2x16xf16>, tensor<0xf32>) -> tensor<?x20xf32, #relax.dims<["n", 20]>>
  return %0 : tensor<?x20xf32, #relax.dims<["n", 20]>>
}

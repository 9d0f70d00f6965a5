// RUN: legato-opt %s --relax-quantized-weights='one-panel=true keep-halves=true' | filecheck %s
// RUN: legato-opt %s --relax-quantized-weights | filecheck %s --check-prefix=PLAIN

// Rows of 70 columns lie together, padded to a multiple of 16. Halves that are widened for the product, and what is rounded to such, stay so.
// CHECK-LABEL: func.func @halves(
// CHECK-NOT: relax.astype
// CHECK: %[[Y:.*]] = "relax.matmul_quantized"(%arg0, %{{.*}}) {bits = 2 : i64, columns = 70 : i64} : (tensor<3x16xf16>, tensor<1x1x1x80xi32>, tensor<1x1x80xf32>, tensor<0xf32>) -> tensor<3x70xf16>
// CHECK-NEXT: return %[[Y]]
// PLAIN-LABEL: func.func @halves(
// PLAIN: "relax.matmul_quantized"({{.*}}) {bits = 2 : i64, columns = 70 : i64} : (tensor<3x16xf32>, tensor<2x1x1x64xi32>, tensor<2x1x64xf32>, tensor<0xf32>) -> tensor<3x70xf32>
func.func @halves(%x: tensor<3x16xf16>) -> tensor<3x70xf16> {
  %w = "relax.constant"() {value = dense<1> : tensor<16x70xi8>} : () -> tensor<16x70xi8>
  %s = "relax.constant"() {value = dense<2.0> : tensor<1x70xf32>} : () -> tensor<1x70xf32>
  %0 = "relax.astype"(%w) {dtype = f32} : (tensor<16x70xi8>) -> tensor<16x70xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<16x70xf32>, tensor<1x70xf32>) -> tensor<16x70xf32>
  %2 = "relax.astype"(%x) {dtype = f32} : (tensor<3x16xf16>) -> tensor<3x16xf32>
  %3 = "relax.matmul"(%2, %1) : (tensor<3x16xf32>, tensor<16x70xf32>) -> tensor<3x70xf32>
  %4 = "relax.astype"(%3) {dtype = f16} : (tensor<3x70xf32>) -> tensor<3x70xf16>
  return %4 : tensor<3x70xf16>
}

// A result that is read in f32, too, is computed in f32.
// CHECK-LABEL: func.func @floats(
// CHECK: %[[X:.*]] = "relax.astype"(%arg0)
// CHECK: "relax.matmul_quantized"(%[[X]], %{{.*}} -> tensor<3x70xf32>
func.func @floats(%x: tensor<3x16xf16>) -> (tensor<3x70xf16>, tensor<3x70xf32>) {
  %w = "relax.constant"() {value = dense<1> : tensor<16x70xi8>} : () -> tensor<16x70xi8>
  %s = "relax.constant"() {value = dense<2.0> : tensor<1x70xf32>} : () -> tensor<1x70xf32>
  %0 = "relax.astype"(%w) {dtype = f32} : (tensor<16x70xi8>) -> tensor<16x70xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<16x70xf32>, tensor<1x70xf32>) -> tensor<16x70xf32>
  %2 = "relax.astype"(%x) {dtype = f32} : (tensor<3x16xf16>) -> tensor<3x16xf32>
  %3 = "relax.matmul"(%2, %1) : (tensor<3x16xf32>, tensor<16x70xf32>) -> tensor<3x70xf32>
  %4 = "relax.astype"(%3) {dtype = f16} : (tensor<3x70xf32>) -> tensor<3x70xf16>
  return %4, %3 : tensor<3x70xf16>, tensor<3x70xf32>
}

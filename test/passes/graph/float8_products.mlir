// RUN: legato-opt %s --relax-float8-products="target=nvvm{chip=sm_89}" | filecheck %s
// RUN: legato-opt %s --relax-float8-products="target=nvvm{chip=sm_80}" | filecheck %s --check-prefix=OLDER

// OLDER-NOT: relax.matmul_float8

// A scaled input, and a constant weight with a scale for each column: the weight lies along the depth, and one factor scales the sums.
// CHECK-LABEL: func.func @scaled(
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{\[}}[1.000000e+00, 3.000000e+00], [-2.000000e+00, 4.000000e+00]]> : tensor<2x2xf8E4M3FN>}
// CHECK: %[[SUMS:.*]] = "relax.matmul_float8"(%arg0, %[[W]])
// CHECK: %[[SCALE:.*]] = "relax.constant"() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK: %[[Y:.*]] = "relax.multiply"(%[[SUMS]], %[[SCALE]])
// CHECK: return %[[Y]]
func.func @scaled(%x: tensor<?x2xf8E4M3FN, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>> {
  %sx = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %sw = "relax.constant"() {value = dense<[2.0, 4.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %w = "relax.constant"() {value = dense<[[1.0, -2.0], [3.0, 4.0]]> : tensor<2x2xf8E4M3FN>} : () -> tensor<2x2xf8E4M3FN>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<?x2xf8E4M3FN, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %1 = "relax.multiply"(%0, %sx) : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<f32>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %2 = "relax.astype"(%w) {dtype = f32} : (tensor<2x2xf8E4M3FN>) -> tensor<2x2xf32>
  %3 = "relax.multiply"(%2, %sw) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = "relax.matmul"(%1, %3) : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<2x2xf32>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  return %4 : tensor<?x2xf32, #relax.dims<["n", 2]>>
}

// A scale for each row, in f16, and a transposed operand with a zero point of 0: the result is f16 again.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[B:.*]] = "relax.permute_dims"(%arg1)
// CHECK: %[[TURNED:.*]] = "relax.permute_dims"(%[[B]])
// CHECK: %[[SUMS:.*]] = "relax.matmul_float8"(%arg0, %[[TURNED]])
// CHECK: %[[SCALE:.*]] = "relax.astype"(%arg2) {dtype = f32}
// CHECK: %[[Y:.*]] = "relax.multiply"(%[[SUMS]], %[[SCALE]])
// CHECK: "relax.astype"(%[[Y]]) {dtype = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
func.func @rows(%a: tensor<2x4xf8E5M2>, %b: tensor<3x4xf8E5M2>, %scale: tensor<2x1xf16>) -> tensor<2x3xf16> {
  %zero = "relax.constant"() {value = dense<0.0> : tensor<f16>} : () -> tensor<f16>
  %0 = "relax.astype"(%a) {dtype = f16} : (tensor<2x4xf8E5M2>) -> tensor<2x4xf16>
  %1 = "relax.multiply"(%0, %scale) : (tensor<2x4xf16>, tensor<2x1xf16>) -> tensor<2x4xf16>
  %2 = "relax.astype"(%b) {dtype = f16} : (tensor<3x4xf8E5M2>) -> tensor<3x4xf16>
  %3 = "relax.subtract"(%2, %zero) : (tensor<3x4xf16>, tensor<f16>) -> tensor<3x4xf16>
  %4 = "relax.permute_dims"(%3) {axes = array<i64: 1, 0>} : (tensor<3x4xf16>) -> tensor<4x3xf16>
  %5 = "relax.matmul"(%1, %4) : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
  return %5 : tensor<2x3xf16>
}

// A scale that changes along the depth, operands of two types, a zero point that is not 0: nothing is changed.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: relax.matmul_float8
// CHECK: return
func.func @others(%a: tensor<2x4xf8E5M2>, %b: tensor<4x3xf8E5M2>, %c: tensor<4x3xf8E4M3FN>, %s: tensor<4xf32>, %z: tensor<f32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "relax.astype"(%a) {dtype = f32} : (tensor<2x4xf8E5M2>) -> tensor<2x4xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = "relax.astype"(%b) {dtype = f32} : (tensor<4x3xf8E5M2>) -> tensor<4x3xf32>
  %3 = "relax.matmul"(%1, %2) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %4 = "relax.astype"(%c) {dtype = f32} : (tensor<4x3xf8E4M3FN>) -> tensor<4x3xf32>
  %5 = "relax.matmul"(%0, %4) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %6 = "relax.subtract"(%2, %z) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %7 = "relax.matmul"(%0, %6) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %3, %5, %7 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @narrower(%a: tensor<2x4xf4E2M1FN>) -> tensor<2x2xf32> {
  // expected-error@+1 {{'relax.matmul_float8' op operand 'a' must have f8E4M3FN or f8E5M2 elements, has f4E2M1FN}}
  %0 = "relax.matmul_float8"(%a, %a) : (tensor<2x4xf4E2M1FN>, tensor<2x4xf4E2M1FN>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @not_transposed(%a: tensor<2x4xf8E5M2>, %b: tensor<4x3xf8E5M2>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'relax.matmul_float8' op the inner sizes differ: 4 (last of a: [2, 4]) and 3 (of b: [3, 4])}}
  %0 = "relax.matmul_float8"(%a, %b) : (tensor<2x4xf8E5M2>, tensor<4x3xf8E5M2>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @two_types(%a: tensor<2x4xf8E5M2>, %b: tensor<3x4xf8E4M3FN>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'relax.matmul_float8' op operands 'a' and 'b' must have elements of one type, have f8E5M2 and f8E4M3FN}}
  %0 = "relax.matmul_float8"(%a, %b) : (tensor<2x4xf8E5M2>, tensor<3x4xf8E4M3FN>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

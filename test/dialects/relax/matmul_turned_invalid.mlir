// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @not_turned(%a: tensor<2x4xf32>, %b: tensor<4x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{'relax.matmul_turned' op the inner sizes differ: 4 (last of a: [2, 4]) and 3 (of b: [3, 4])}}
  %0 = "relax.matmul_turned"(%a, %b) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @vector(%a: tensor<2x4xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'relax.matmul_turned' op operand 'b' must have rank 2 or more, has shape [4]}}
  %0 = "relax.matmul_turned"(%a, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

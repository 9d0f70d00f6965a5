// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @wide(%a: tensor<2x4xi32>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{'relax.matmul_integer' op operand 'a' must have int8, uint8 or int16 elements, has i32}}
  %0 = "relax.matmul_integer"(%a, %b) : (tensor<2x4xi32>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @vector(%a: tensor<2x4xi8>, %b: tensor<4xi8>) {
  // expected-error@+1 {{'relax.matmul_integer' op a and b must have rank 2 or more, they have [2, 4] and [4]}}
  %0 = "relax.matmul_integer"(%a, %b) : (tensor<2x4xi8>, tensor<4xi8>) -> tensor<2xi32>
  return
}

// -----

func.func @channels(%x: tensor<1x4x8x8xui8>, %w: tensor<8x3x3x3xi8>) {
  // expected-error@+1 {{'relax.conv2d_integer' op x has 4 channels, but w takes 3 in each of 1 groups}}
  %0 = "relax.conv2d_integer"(%x, %w) : (tensor<1x4x8x8xui8>, tensor<8x3x3x3xi8>) -> tensor<1x8x6x6xi32>
  return
}

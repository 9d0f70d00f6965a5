// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @bits(%x: tensor<3x64xf32>, %w: tensor<1x2x32x16xi8>, %s: tensor<1x2x16xf32>, %z: tensor<0xf32>) {
  // expected-error@+1 {{'relax.matmul_quantized' op attribute 'bits' must be 2, 4 or 8, is 3}}
  %0 = "relax.matmul_quantized"(%x, %w, %s, %z) {bits = 3 : i64, columns = 16 : i64} : (tensor<3x64xf32>, tensor<1x2x32x16xi8>, tensor<1x2x16xf32>, tensor<0xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @words(%x: tensor<3x64xf32>, %w: tensor<1x2x32x16xi8>, %s: tensor<1x2x16xf32>, %z: tensor<0xf32>) {
  // expected-error@+1 {{'relax.matmul_quantized' op operand 'weight' must have i32 elements for 4 bits, has i8}}
  %0 = "relax.matmul_quantized"(%x, %w, %s, %z) {bits = 4 : i64, columns = 16 : i64} : (tensor<3x64xf32>, tensor<1x2x32x16xi8>, tensor<1x2x16xf32>, tensor<0xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @scale(%x: tensor<3x64xf32>, %w: tensor<1x2x32x16xi8>, %s: tensor<1x3x16xf32>, %z: tensor<0xf32>) {
  // expected-error@+1 {{scale must have the shape [1, 2, 16] and zero this or [0], they have [1, 3, 16] and [0]}}
  %0 = "relax.matmul_quantized"(%x, %w, %s, %z) {bits = 8 : i64, columns = 16 : i64} : (tensor<3x64xf32>, tensor<1x2x32x16xi8>, tensor<1x3x16xf32>, tensor<0xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @depth(%x: tensor<3x60xf32>, %w: tensor<1x2x32x16xi8>, %s: tensor<1x2x16xf32>, %z: tensor<0xf32>) {
  // expected-error@+1 {{the inner sizes differ: 60 (of x) and 64 (of weight)}}
  %0 = "relax.matmul_quantized"(%x, %w, %s, %z) {bits = 8 : i64, columns = 16 : i64} : (tensor<3x60xf32>, tensor<1x2x32x16xi8>, tensor<1x2x16xf32>, tensor<0xf32>) -> tensor<3x16xf32>
  return
}

// -----

func.func @columns(%x: tensor<3x64xf32>, %w: tensor<2x2x32x16xi8>, %s: tensor<2x2x16xf32>, %z: tensor<0xf32>) {
  // expected-error@+1 {{16 columns do not need 2 panels of 16}}
  %0 = "relax.matmul_quantized"(%x, %w, %s, %z) {bits = 8 : i64, columns = 16 : i64} : (tensor<3x64xf32>, tensor<2x2x32x16xi8>, tensor<2x2x16xf32>, tensor<0xf32>) -> tensor<3x16xf32>
  return
}

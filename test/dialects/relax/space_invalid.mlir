// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @depth_to_space(%x: tensor<1x6x2x3xf32>) {
  // expected-error@+1 {{'relax.depth_to_space' op attribute 'block' is 2, but 4 does not divide x's 6 channels}}
  %0 = "relax.depth_to_space"(%x) {block = 2 : i64} : (tensor<1x6x2x3xf32>) -> tensor<1x1x4x6xf32>
  return
}

// -----

func.func @depth_to_space_rank(%x: tensor<8x2x3xf32>) {
  // expected-error@+1 {{'relax.depth_to_space' op operand 'x' must have rank 4, NCHW, has [8, 2, 3]}}
  %0 = "relax.depth_to_space"(%x) {block = 2 : i64} : (tensor<8x2x3xf32>) -> tensor<1x1x4x6xf32>
  return
}

// -----

func.func @space_to_depth(%x: tensor<1x2x4x5xf32>) {
  // expected-error@+1 {{'relax.space_to_depth' op attribute 'block' is 2, which does not divide x's width 5}}
  %0 = "relax.space_to_depth"(%x) {block = 2 : i64} : (tensor<1x2x4x5xf32>) -> tensor<1x8x2x2xf32>
  return
}

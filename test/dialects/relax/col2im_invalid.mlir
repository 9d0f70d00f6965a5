// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<1x2x3xf32>) {
  // expected-error@+1 {{'relax.col2im' op operand 'x' has [1, 2, 3], expected rank 4 for images of 1 axes: batch, channels, block and places}}
  %0 = "relax.col2im"(%x) {size = #relax.dims<[4]>, strides = array<i64: 1>, padding = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x3xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

func.func @places(%x: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{'relax.col2im' op operand 'x' has blocks for [4] places, but a block has [2] in the image}}
  %0 = "relax.col2im"(%x) {size = #relax.dims<[4]>, strides = array<i64: 1>, padding = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

func.func @stride(%x: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{'relax.col2im' op attribute 'strides' is [0], expected values of 1 or more}}
  %0 = "relax.col2im"(%x) {size = #relax.dims<[4]>, strides = array<i64: 0>, padding = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x2x4xf32>
  return
}

// -----

func.func @block(%x: tensor<1x2x9x4xf32>) {
  // expected-error@+1 {{'relax.col2im' op the window of 9 is larger than spatial axis 0: 4 and a padding of 1 + 1}}
  %0 = "relax.col2im"(%x) {size = #relax.dims<[4]>, strides = array<i64: 1>, padding = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x9x4xf32>) -> tensor<1x2x4xf32>
  return
}

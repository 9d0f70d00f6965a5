// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'relax.nonzero' op operand 'x' must have a dimension, and is a scalar}}
  %0 = "relax.nonzero"(%x) {size = "m"} : (tensor<f32>) -> tensor<0x?xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'relax.nonzero' op attribute 'size' is the name of a symbol, found 'm + 1'}}
  %0 = "relax.nonzero"(%x) {size = "m + 1"} : (tensor<4xf32>) -> tensor<1x?xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'relax.nonzero' op needs attribute 'size': a string}}
  %0 = "relax.nonzero"(%x) : (tensor<4xf32>) -> tensor<1x?xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'relax.nonzero' op result is declared}}
  %0 = "relax.nonzero"(%x) {size = "m"} : (tensor<4xf32>) -> tensor<1x4xi64>
  return
}

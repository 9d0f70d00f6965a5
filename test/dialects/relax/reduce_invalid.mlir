// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @sum(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.sum' op attribute 'axis' is 2, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.sum"(%x) {axis = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @mean(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.mean' op attribute 'axis' is 2, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.mean"(%x) {axis = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @prod(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.prod' op attribute 'axis' is 2, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.prod"(%x) {axis = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @max(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.max' op result is declared tensor<2xf32>, but its operands make tensor<2x1xf32>}}
  %0 = "relax.max"(%x) {axis = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @min(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.min' op result is declared tensor<2xf32>, but its operands make tensor<2x1xf32>}}
  %0 = "relax.min"(%x) {axis = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @argmax(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.argmax' op result is declared tensor<2xi32>, but its operands make tensor<2xi64>}}
  %0 = "relax.argmax"(%x) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @argmin(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.argmin' op result is declared tensor<2xi32>, but its operands make tensor<2xi64>}}
  %0 = "relax.argmin"(%x) {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.sum' op attribute 'axis' is [1, -1], which names an axis twice}}
  %0 = "relax.sum"(%x) {axis = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @cumsum(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.cumsum' op attribute 'axis' is -3, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.cumsum"(%x) {axis = -3 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @cumprod(%x: tensor<2x3xi1>) {
  // expected-error@+1 {{'relax.cumprod' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.cumprod"(%x) {axis = 0 : i64} : (tensor<2x3xi1>) -> tensor<2x3xi1>
  return
}

// -----

func.func @topk(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.topk' op attribute 'k' is 4, expected from 0 to 3, the size of axis 1}}
  %0 = "relax.topk"(%x) {k = 4 : i64} : (tensor<2x3xf32>) -> tensor<2x4xi64>
  return
}

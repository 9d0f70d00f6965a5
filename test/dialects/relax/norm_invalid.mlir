// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.softmax' op attribute 'axis' is 2, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.softmax"(%x) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @log_softmax(%x: tensor<2x3xi32>) {
  // expected-error@+1 {{'relax.log_softmax' op operand 'x' must have float elements, has i32}}
  %0 = "relax.log_softmax"(%x) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @layer_norm(%x: tensor<2x3x4xf32>, %g: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.layer_norm' op operand 'beta' must have the shape [4], the axes [2] of x, has [3]}}
  %0 = "relax.layer_norm"(%x, %g, %b) : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @rms_norm(%x: tensor<2x3x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'relax.rms_norm' op attribute 'axes' is [-1, 2], which names an axis twice}}
  %0 = "relax.rms_norm"(%x, %g) {axes = array<i64: -1, 2>} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @batch_norm(%x: tensor<2x3x4xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<4xf32>, %v: tensor<3xf32>) {
  // expected-error@+1 {{'relax.batch_norm' op operand 'mean' must have the shape [3], the channels of x, has [4]}}
  %0 = "relax.batch_norm"(%x, %g, %b, %m, %v) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @instance_norm(%x: tensor<2x3xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.instance_norm' op operand 'x' must have rank 3 or more, has [2, 3]}}
  %0 = "relax.instance_norm"(%x, %g, %b) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @group_norm(%x: tensor<2x3x4xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.group_norm' op attribute 'num_groups' is 2, expected a divisor of x's 3 channels}}
  %0 = "relax.group_norm"(%x, %g, %b) {num_groups = 2 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @lrn(%x: tensor<2x3x4xf32>) {
  // expected-error@+1 {{'relax.lrn' op attribute 'size' is 0, expected 1 or more}}
  %0 = "relax.lrn"(%x) {size = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @take(%x: tensor<5x2xf32>, %i: tensor<3xf32>) {
  // expected-error@+1 {{'relax.take' op operand 'indices' must have int or uint elements, has f32}}
  %0 = "relax.take"(%x, %i) : (tensor<5x2xf32>, tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @take_axis(%x: tensor<5x2xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{'relax.take' op attribute 'axis' is 2, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.take"(%x, %i) {axis = 2 : i64} : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_elements(%x: tensor<5x2xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{'relax.gather_elements' op operand 'indices' must have x's rank 2, has [3]}}
  %0 = "relax.gather_elements"(%x, %i) : (tensor<5x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_elements_size(%x: tensor<5x2xf32>, %i: tensor<3x4xi64>) {
  // expected-error@+1 {{'relax.gather_elements' op operand 'indices' has 4 elements along axis 1, more than x's 2}}
  %0 = "relax.gather_elements"(%x, %i) : (tensor<5x2xf32>, tensor<3x4xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_nd(%x: tensor<5x2xf32>, %i: tensor<4x3xi64>) {
  // expected-error@+1 {{'relax.gather_nd' op the last axis of indices has size 3, expected from 1 to 2, x's axes after the batch}}
  %0 = "relax.gather_nd"(%x, %i) : (tensor<5x2xf32>, tensor<4x3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @gather_weighted(%x: tensor<2x5x3xf32>, %i: tensor<2x4x6xi64>, %w: tensor<2x6x4xf32>) {
  // expected-error@+1 {{'relax.gather_weighted' op operand 'weights' must have the shape [2, 4, 6] of indices, has [2, 6, 4]}}
  %0 = "relax.gather_weighted"(%x, %i, %w) : (tensor<2x5x3xf32>, tensor<2x4x6xi64>, tensor<2x6x4xf32>) -> tensor<2x6x3xf32>
  return
}

// -----

func.func @gather_weighted_batch(%x: tensor<3x5x3xf32>, %i: tensor<2x4x6xi64>, %w: tensor<2x4x6xf32>) {
  // expected-error@+1 {{'relax.gather_weighted' op x and indices must agree on axis 0, have 3 and 2}}
  %0 = "relax.gather_weighted"(%x, %i, %w) : (tensor<3x5x3xf32>, tensor<2x4x6xi64>, tensor<2x4x6xf32>) -> tensor<3x6x3xf32>
  return
}

// -----

func.func @gather_weighted_rank(%x: tensor<5x3xf32>, %i: tensor<2x4x6xi64>, %w: tensor<2x4x6xf32>) {
  // expected-error@+1 {{'relax.gather_weighted' op operand 'x' must have rank 3, has [5, 3]}}
  %0 = "relax.gather_weighted"(%x, %i, %w) : (tensor<5x3xf32>, tensor<2x4x6xi64>, tensor<2x4x6xf32>) -> tensor<2x6x3xf32>
  return
}

// -----

func.func @gather_nd_batch(%x: tensor<5x2xf32>, %i: tensor<4x1xi64>) {
  // expected-error@+1 {{'relax.gather_nd' op x and indices must agree on batch axis 0, have 5 and 4}}
  %0 = "relax.gather_nd"(%x, %i) {batch_dims = 1 : i64} : (tensor<5x2xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_scalar(%x: tensor<5x2xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{'relax.gather_nd' op operand 'indices' must have rank 1 or more, is a scalar}}
  %0 = "relax.gather_nd"(%x, %i) : (tensor<5x2xf32>, tensor<i64>) -> tensor<2xf32>
  return
}

// -----

func.func @one_hot(%i: tensor<3xi64>) {
  // expected-error@+1 {{'relax.one_hot' op attribute 'depth' is -1, expected 0 or more}}
  %0 = "relax.one_hot"(%i) {depth = -1 : i64} : (tensor<3xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @scatter_elements(%x: tensor<5x2xf32>, %i: tensor<3x2xi64>, %u: tensor<3x1xf32>) {
  // expected-error@+1 {{'relax.scatter_elements' op operand 'updates' must have the shape of indices, [3, 2], has [3, 1]}}
  %0 = "relax.scatter_elements"(%x, %i, %u) : (tensor<5x2xf32>, tensor<3x2xi64>, tensor<3x1xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @scatter_elements_reduction(%x: tensor<5x2xf32>, %i: tensor<3x2xi64>, %u: tensor<3x2xf32>) {
  // expected-error@+1 {{'relax.scatter_elements' op attribute 'reduction' must be one of 'none', 'add', 'mul', 'max', 'min', found "sum"}}
  %0 = "relax.scatter_elements"(%x, %i, %u) {reduction = "sum"} : (tensor<5x2xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @scatter_nd(%x: tensor<5x2xf32>, %i: tensor<3x1xi64>, %u: tensor<3xf32>) {
  // expected-error@+1 {{'relax.scatter_nd' op operand 'updates' must have the shape [3, 2], has [3]}}
  %0 = "relax.scatter_nd"(%x, %i, %u) : (tensor<5x2xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5x2xf32>
  return
}

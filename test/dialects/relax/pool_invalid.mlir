// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @max_pool1d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.max_pool1d' op operand 'x' must have rank 3, has [1, 4]}}
  %0 = "relax.max_pool1d"(%x) {kernel = array<i64: 2>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @max_pool2d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.max_pool2d' op operand 'x' must have rank 4, has [1, 4]}}
  %0 = "relax.max_pool2d"(%x) {kernel = array<i64: 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @max_pool3d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.max_pool3d' op operand 'x' must have rank 5, has [1, 4]}}
  %0 = "relax.max_pool3d"(%x) {kernel = array<i64: 2, 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @avg_pool1d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.avg_pool1d' op operand 'x' must have rank 3, has [1, 4]}}
  %0 = "relax.avg_pool1d"(%x) {kernel = array<i64: 2>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @avg_pool2d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.avg_pool2d' op operand 'x' must have rank 4, has [1, 4]}}
  %0 = "relax.avg_pool2d"(%x) {kernel = array<i64: 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @avg_pool3d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.avg_pool3d' op operand 'x' must have rank 5, has [1, 4]}}
  %0 = "relax.avg_pool3d"(%x) {kernel = array<i64: 2, 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @kernel(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'relax.max_pool1d' op attribute 'kernel' is [0], expected values of 1 or more}}
  %0 = "relax.max_pool1d"(%x) {kernel = array<i64: 0>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @padding(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'relax.max_pool1d' op attribute 'padding' is [2, 0], expected less than the window's extents [2]: a window of nothing but padding has no value}}
  %0 = "relax.max_pool1d"(%x) {kernel = array<i64: 2>, padding = array<i64: 2, 0>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @average_of_integers(%x: tensor<1x4x8xi8>) {
  // expected-error@+1 {{'relax.avg_pool1d' op operand 'x' must have float elements, has i8}}
  %0 = "relax.avg_pool1d"(%x) {kernel = array<i64: 2>} : (tensor<1x4x8xi8>) -> tensor<1x4x7xi8>
  return
}

// -----

func.func @no_count_in_max(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'relax.max_pool1d' op has no attribute 'count_include_pad'}}
  %0 = "relax.max_pool1d"(%x) {kernel = array<i64: 2>, count_include_pad = true} : (tensor<1x4x8xf32>) -> tensor<1x4x7xf32>
  return
}

// -----

func.func @arg_max_pool1d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.arg_max_pool1d' op operand 'x' must have rank 3, has [1, 4]}}
  %0 = "relax.arg_max_pool1d"(%x) {kernel = array<i64: 2>} : (tensor<1x4xf32>) -> tensor<1x4xi64>
  return
}

// -----

func.func @arg_max_pool2d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.arg_max_pool2d' op operand 'x' must have rank 4, has [1, 4]}}
  %0 = "relax.arg_max_pool2d"(%x) {kernel = array<i64: 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4xi64>
  return
}

// -----

func.func @arg_max_pool3d(%x: tensor<1x4xf32>) {
  // expected-error@+1 {{'relax.arg_max_pool3d' op operand 'x' must have rank 5, has [1, 4]}}
  %0 = "relax.arg_max_pool3d"(%x) {kernel = array<i64: 2, 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4xi64>
  return
}

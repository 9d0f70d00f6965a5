// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @begin(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.strided_slice' op attribute 'end' is [1], expected 2 values: one for each of the axes [0, 1]}}
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0, 0]>, end = #relax.dims<[1]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @stride(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.strided_slice' op attribute 'strides' is [0], expected no 0}}
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[1]>, strides = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axes(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.strided_slice' op attribute 'axes' is 2, expected a value from -2 to 1 for rank 2}}
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[1]>, axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pad(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.pad' op attribute 'pads' is [1, 1], expected 4 values: the begin of each axis, then the end of each}}
  %0 = "relax.pad"(%x) {pads = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_reflect(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.pad' op attribute 'pads' is [2, 0, 0, 0], too much for mode 'reflect' on axis 0 of size 2}}
  %0 = "relax.pad"(%x) {pads = array<i64: 2, 0, 0, 0>, mode = "reflect"} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @pad_cut(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.pad' op attribute 'pads' is [-2, 0, -1, 0], which cuts off more than the 2 elements of axis 0}}
  %0 = "relax.pad"(%x) {pads = array<i64: -2, 0, -1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @triu(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.triu' op operand 'x' must have rank 2 or more, has [3]}}
  %0 = "relax.triu"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @tril(%x: tensor<3xf32>) {
  // expected-error@+1 {{'relax.tril' op operand 'x' must have rank 2 or more, has [3]}}
  %0 = "relax.tril"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

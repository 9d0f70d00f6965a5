// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @start_of_rank_1(%x: tensor<1xf32>, %y: tensor<f32>) {
  // expected-error@+1 {{'relax.arange' op operand 'start' must be a scalar, has [1]}}
  %0 = "relax.arange"(%x, %y) {shape = #relax.dims<[3]>} : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @two_sizes(%x: tensor<f32>) {
  // expected-error@+1 {{'relax.arange' op attribute 'shape' is [3, 2], expected one size of 0 or more}}
  %0 = "relax.arange"(%x, %x) {shape = #relax.dims<[3, 2]>} : (tensor<f32>, tensor<f32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @other_types(%x: tensor<f32>, %y: tensor<i64>) {
  // expected-error@+1 {{'relax.arange' op}}
  %0 = "relax.arange"(%x, %y) {shape = #relax.dims<[3]>} : (tensor<f32>, tensor<i64>) -> tensor<3xf32>
  return
}

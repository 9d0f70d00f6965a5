// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @key_of_three_words(%key: tensor<3xui32>) {
  // expected-error@+1 {{'relax.random_bits' op operand 'key' must be two words, tensor<2xui32>, is [3] of ui32}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>} : (tensor<3xui32>) -> tensor<4xui32>
  return
}

// -----

func.func @key_of_signed_words(%key: tensor<2xi32>) {
  // expected-error@+1 {{'relax.random_bits' op operand 'key' must have uint elements, has i32}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>} : (tensor<2xi32>) -> tensor<4xui32>
  return
}

// -----

func.func @bytes(%key: tensor<2xui32>) {
  // expected-error@+1 {{'relax.random_bits' op attribute 'dtype' is ui8, expected ui32 or ui64}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>, dtype = ui8} : (tensor<2xui32>) -> tensor<4xui8>
  return
}

// -----

func.func @negative_size(%key: tensor<2xui32>) {
  // expected-error@+1 {{'relax.random_bits' op attribute 'shape' is [-1], expected sizes of 0 or more}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[-1]>} : (tensor<2xui32>) -> tensor<4xui32>
  return
}

// -----

func.func @several_numbers(%key: tensor<2xui32>, %numbers: tensor<4xui32>) {
  // expected-error@+1 {{'relax.fold_in' op operand 'data' must be a scalar, has [4]}}
  %0 = "relax.fold_in"(%key, %numbers) : (tensor<2xui32>, tensor<4xui32>) -> tensor<2xui32>
  return
}

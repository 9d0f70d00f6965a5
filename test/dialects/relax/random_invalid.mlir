// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @key_of_two_words(%key: tensor<2xui64>) {
  // expected-error@+1 {{'relax.random_bits' op operand 'key' must be a scalar, has [2]}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>} : (tensor<2xui64>) -> tensor<4xui32>
  return
}

// -----

func.func @short_key(%key: tensor<ui32>) {
  // expected-error@+1 {{'relax.random_bits' op operand 'key' must have ui64 elements, has ui32}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>} : (tensor<ui32>) -> tensor<4xui32>
  return
}

// -----

func.func @signed_key(%key: tensor<i64>) {
  // expected-error@+1 {{'relax.random_bits' op operand 'key' must have uint elements, has i64}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>} : (tensor<i64>) -> tensor<4xui32>
  return
}

// -----

func.func @bytes(%key: tensor<ui64>) {
  // expected-error@+1 {{'relax.random_bits' op attribute 'dtype' is ui8, expected ui32 or ui64}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[4]>, dtype = ui8} : (tensor<ui64>) -> tensor<4xui8>
  return
}

// -----

func.func @negative_size(%key: tensor<ui64>) {
  // expected-error@+1 {{'relax.random_bits' op attribute 'shape' is [-1], expected sizes of 0 or more}}
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[-1]>} : (tensor<ui64>) -> tensor<4xui32>
  return
}

// -----

func.func @several_numbers(%key: tensor<ui64>, %numbers: tensor<4xui64>) {
  // expected-error@+1 {{'relax.fold_in' op operand 'data' must be a scalar, has [4]}}
  %0 = "relax.fold_in"(%key, %numbers) : (tensor<ui64>, tensor<4xui64>) -> tensor<ui64>
  return
}

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

// -----

func.func @sizes(%x: tensor<3xi64>) {
  // expected-error@+1 {{'relax.size_of' op operand 'x' must be a vector of 2 elements, one for each size, has [3]}}
  %0 = "relax.size_of"(%x) {sizes = #relax.dims<["h", "w"]>} : (tensor<3xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
  return
}

// -----

func.func @names(%x: tensor<2xi64>) {
  // expected-error@+1 {{'relax.size_of' op attribute 'sizes' is [h, h], expected names of symbols, all different}}
  %0 = "relax.size_of"(%x) {sizes = #relax.dims<["h", "h"]>} : (tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "h", 0]>>
  return
}

// -----

func.func @named(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{'relax.name_sizes' op attribute 'sizes' is [m, 5]: for each axis of [?, 4] f32 it has its size, or the name of a new symbol}}
  %0 = "relax.name_sizes"(%x) {sizes = #relax.dims<["m", 5]>} : (tensor<?x4xf32>) -> tensor<?x5xf32, #relax.dims<["m", 5]>>
  return
}

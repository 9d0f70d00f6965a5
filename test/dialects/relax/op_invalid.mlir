// RUN: legato-opt %s --split-input-file --verify-diagnostics

// What every op checks: arity, attributes, element types, the result's type, encodings.

func.func @operands(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  // expected-error@+1 {{'relax.exp' op expects 1 operand, has 2}}
  %0 = "relax.exp"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @results(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.exp' op expects 1 result, has 2}}
  %0:2 = "relax.exp"(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @unknown(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.softmax' op has no attribute 'axsi'; did you mean 'axis'?}}
  %0 = "relax.softmax"(%x) {axsi = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @unknown_of_none(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.exp' op has no attribute 'axis'; it has: none}}
  %0 = "relax.exp"(%x) {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// What has a dot in its name is somebody else's.
func.func @discardable(%x: tensor<2xf32>) {
  %0 = "relax.exp"(%x) {relax.note = "kept"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @missing(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.permute_dims' op needs attribute 'axes': a list of integers (array<i64: ...>)}}
  %0 = "relax.permute_dims"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @kind_of_integer(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.softmax' op attribute 'axis' must be an integer (i64), found "0"}}
  %0 = "relax.softmax"(%x) {axis = "0"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @kind_of_bool(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.sum' op attribute 'keepdims' must be true or false, found 1 : i64}}
  %0 = "relax.sum"(%x) {keepdims = 1 : i64} : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @kind_of_integers(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.sum' op attribute 'axis' must be a list of integers (array<i64: ...>), found [0]}}
  %0 = "relax.sum"(%x) {axis = [0]} : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @kind_of_number(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.elu' op attribute 'alpha' must be a number (f64), found 1 : i64}}
  %0 = "relax.elu"(%x) {alpha = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @kind_of_word(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.gelu' op attribute 'approximate' must be one of 'none', 'tanh', found "erf"}}
  %0 = "relax.gelu"(%x) {approximate = "erf"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @kind_of_type(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.astype' op attribute 'dtype' must be an element type, found index}}
  %0 = "relax.astype"(%x) {dtype = index} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @kind_of_sizes(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.reshape' op attribute 'shape' must be a list of sizes (#relax.dims<[...]>), found array<i64: 2>}}
  %0 = "relax.reshape"(%x) {shape = array<i64: 2>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @unknown_size(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.reshape' op attribute 'shape' must be a list of sizes (#relax.dims<[...]>), found}}
  %0 = "relax.reshape"(%x) {shape = #relax.dims<["?"]>} : (tensor<2xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @mixed_elements(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{'relax.add' op operands 'a' and 'b' must have one element type, have f32 and f64}}
  %0 = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @unsupported_elements(%x: tensor<2xf8E3M4>) {
  // expected-error@+1 {{'relax.exp' op operand 'x': element type f8E3M4 is not supported: use one of f16, bf16}}
  %0 = "relax.exp"(%x) : (tensor<2xf8E3M4>) -> tensor<2xf8E3M4>
  return
}

// -----

func.func @not_ranked(%x: tensor<*xf32>) {
  // expected-error@+1 {{'relax.exp' op operand 'x': tensor<*xf32> is not a ranked tensor}}
  %0 = "relax.exp"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @result_shape(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'relax.exp' op result is declared tensor<3x2xf32>, but its operands make tensor<2x3xf32>}}
  %0 = "relax.exp"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @result_elements(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.exp' op result is declared tensor<2xf64>, but its operands make tensor<2xf32>}}
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @result_symbol(%x: tensor<?xf32, #relax.dims<["n"]>>) {
  // expected-error@+1 {{'relax.exp' op result is declared tensor<?xf32, #relax.dims<["m"]>>, but its operands make tensor<?xf32, #relax.dims<["n"]>>}}
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["m"]>>
  return
}

// -----

// A size without a name is compatible with anything, and expressions are compared by what they mean.
func.func @less_precise(%x: tensor<?x4xf32, #relax.dims<["n * 2 + n", 4]>>) {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n * 2 + n", 4]>>) -> tensor<?x?xf32>
  %1 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n * 2 + n", 4]>>) -> tensor<?x4xf32, #relax.dims<["3 * n", 4]>>
  return
}

// -----

func.func @encoding_rank(%x: tensor<?x4xf32, #relax.dims<["n"]>>) {
  // expected-error@+1 {{'relax.exp' op operand 'x': tensor<?x4xf32, #relax.dims<["n"]>> has 2 dimensions, but its encoding names 1}}
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n"]>>) -> tensor<?x4xf32>
  return
}

// -----

func.func @encoding_size(%x: tensor<?x4xf32, #relax.dims<["n", 5]>>) {
  // expected-error@+1 {{'relax.exp' op operand 'x': tensor<?x4xf32, #relax.dims<["n", 5]>>: the encoding says '5' where the shape says '4'}}
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n", 5]>>) -> tensor<?x4xf32>
  return
}

// -----

func.func @encoding_static(%x: tensor<?x4xf32, #relax.dims<[3, 4]>>) {
  // expected-error@+1 {{'relax.exp' op operand 'x': tensor<?x4xf32, #relax.dims<[3, 4]>>: the encoding says '3' where the shape says '?'}}
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<[3, 4]>>) -> tensor<?x4xf32>
  return
}

// -----

func.func @encoding_text(%x: tensor<?xf32, #relax.dims<["n *"]>>) {
  // expected-error@+1 {{'relax.exp' op operand 'x': cannot read the dimension 'n *': it ends too soon}}
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.dims<["n *"]>>) -> tensor<?xf32>
  return
}

// -----

func.func @location(%x: tensor<2xf32>) {
  // expected-error@unknown {{'relax.softmax' op attribute 'axis' is 1, expected a value from -1 to 0 for rank 1}}
  %0 = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32> loc("encoder/layer.0/Softmax")
  return
}

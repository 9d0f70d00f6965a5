// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @exp(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.exp' op operand 'x' must have float elements, has i32}}
  %0 = "relax.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @log(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.log' op operand 'x' must have float elements, has i32}}
  %0 = "relax.log"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @log2(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.log2' op operand 'x' must have float elements, has i32}}
  %0 = "relax.log2"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @log10(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.log10' op operand 'x' must have float elements, has i32}}
  %0 = "relax.log10"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @log1p(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.log1p' op operand 'x' must have float elements, has i32}}
  %0 = "relax.log1p"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @expm1(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.expm1' op operand 'x' must have float elements, has i32}}
  %0 = "relax.expm1"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sqrt(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.sqrt' op operand 'x' must have float elements, has i32}}
  %0 = "relax.sqrt"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @rsqrt(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.rsqrt' op operand 'x' must have float elements, has i32}}
  %0 = "relax.rsqrt"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @reciprocal(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.reciprocal' op operand 'x' must have float elements, has i32}}
  %0 = "relax.reciprocal"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sin(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.sin' op operand 'x' must have float elements, has i32}}
  %0 = "relax.sin"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @cos(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.cos' op operand 'x' must have float elements, has i32}}
  %0 = "relax.cos"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @tan(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.tan' op operand 'x' must have float elements, has i32}}
  %0 = "relax.tan"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @asin(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.asin' op operand 'x' must have float elements, has i32}}
  %0 = "relax.asin"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @acos(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.acos' op operand 'x' must have float elements, has i32}}
  %0 = "relax.acos"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @atan(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.atan' op operand 'x' must have float elements, has i32}}
  %0 = "relax.atan"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sinh(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.sinh' op operand 'x' must have float elements, has i32}}
  %0 = "relax.sinh"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @cosh(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.cosh' op operand 'x' must have float elements, has i32}}
  %0 = "relax.cosh"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @tanh(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.tanh' op operand 'x' must have float elements, has i32}}
  %0 = "relax.tanh"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @asinh(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.asinh' op operand 'x' must have float elements, has i32}}
  %0 = "relax.asinh"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @acosh(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.acosh' op operand 'x' must have float elements, has i32}}
  %0 = "relax.acosh"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @atanh(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.atanh' op operand 'x' must have float elements, has i32}}
  %0 = "relax.atanh"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @erf(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.erf' op operand 'x' must have float elements, has i32}}
  %0 = "relax.erf"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @erfc(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.erfc' op operand 'x' must have float elements, has i32}}
  %0 = "relax.erfc"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @erfinv(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.erfinv' op operand 'x' must have float elements, has i32}}
  %0 = "relax.erfinv"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @lgamma(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.lgamma' op operand 'x' must have float elements, has i32}}
  %0 = "relax.lgamma"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sigmoid(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.sigmoid' op operand 'x' must have float elements, has i32}}
  %0 = "relax.sigmoid"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @relu(%x: tensor<2xi1>) {
  // expected-error@+1 {{'relax.relu' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.relu"(%x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @silu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.silu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.silu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @gelu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.gelu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.gelu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @leaky_relu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.leaky_relu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.leaky_relu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @elu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.elu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.elu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @selu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.selu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.selu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @celu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.celu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.celu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @softplus(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.softplus' op operand 'x' must have float elements, has i32}}
  %0 = "relax.softplus"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @softsign(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.softsign' op operand 'x' must have float elements, has i32}}
  %0 = "relax.softsign"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @hard_sigmoid(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.hard_sigmoid' op operand 'x' must have float elements, has i32}}
  %0 = "relax.hard_sigmoid"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @hard_swish(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.hard_swish' op operand 'x' must have float elements, has i32}}
  %0 = "relax.hard_swish"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @mish(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.mish' op operand 'x' must have float elements, has i32}}
  %0 = "relax.mish"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @thresholded_relu(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.thresholded_relu' op operand 'x' must have float elements, has i32}}
  %0 = "relax.thresholded_relu"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @abs(%x: tensor<2xi1>) {
  // expected-error@+1 {{'relax.abs' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.abs"(%x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @negative(%x: tensor<2xi1>) {
  // expected-error@+1 {{'relax.negative' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.negative"(%x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @sign(%x: tensor<2xi1>) {
  // expected-error@+1 {{'relax.sign' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.sign"(%x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @square(%x: tensor<2xi1>) {
  // expected-error@+1 {{'relax.square' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.square"(%x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @ceil(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.ceil' op operand 'x' must have float elements, has i32}}
  %0 = "relax.ceil"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @floor(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.floor' op operand 'x' must have float elements, has i32}}
  %0 = "relax.floor"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @round(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.round' op operand 'x' must have float elements, has i32}}
  %0 = "relax.round"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @trunc(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.trunc' op operand 'x' must have float elements, has i32}}
  %0 = "relax.trunc"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @isnan(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.isnan' op operand 'x' must have float elements, has i32}}
  %0 = "relax.isnan"(%x) : (tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @isinf(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.isinf' op operand 'x' must have float elements, has i32}}
  %0 = "relax.isinf"(%x) : (tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @isfinite(%x: tensor<2xi32>) {
  // expected-error@+1 {{'relax.isfinite' op operand 'x' must have float elements, has i32}}
  %0 = "relax.isfinite"(%x) : (tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @logical_not(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.logical_not' op operand 'x' must have bool elements, has f32}}
  %0 = "relax.logical_not"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @bitwise_not(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.bitwise_not' op operand 'x' must have int or uint elements, has f32}}
  %0 = "relax.bitwise_not"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

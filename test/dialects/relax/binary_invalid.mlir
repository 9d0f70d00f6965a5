// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @add(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.add' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @subtract(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.subtract' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.subtract"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @multiply(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.multiply' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.multiply"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @divide(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.divide' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.divide"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @floor_divide(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.floor_divide' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.floor_divide"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @power(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.power' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.power"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @maximum(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.maximum' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.maximum"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @minimum(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.minimum' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.minimum"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @mod(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.mod' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.mod"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @equal(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.equal' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.equal"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @not_equal(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.not_equal' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.not_equal"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @less(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.less' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.less"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @less_equal(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.less_equal' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.less_equal"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @greater(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.greater' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.greater"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @greater_equal(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'relax.greater_equal' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.greater_equal"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @logical_and(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error@+1 {{'relax.logical_and' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.logical_and"(%a, %b) : (tensor<2xi1>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @logical_or(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error@+1 {{'relax.logical_or' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.logical_or"(%a, %b) : (tensor<2xi1>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @logical_xor(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error@+1 {{'relax.logical_xor' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.logical_xor"(%a, %b) : (tensor<2xi1>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @bitwise_and(%a: tensor<2xi32>, %b: tensor<3xi32>) {
  // expected-error@+1 {{'relax.bitwise_and' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.bitwise_and"(%a, %b) : (tensor<2xi32>, tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @bitwise_or(%a: tensor<2xi32>, %b: tensor<3xi32>) {
  // expected-error@+1 {{'relax.bitwise_or' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.bitwise_or"(%a, %b) : (tensor<2xi32>, tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @bitwise_xor(%a: tensor<2xi32>, %b: tensor<3xi32>) {
  // expected-error@+1 {{'relax.bitwise_xor' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.bitwise_xor"(%a, %b) : (tensor<2xi32>, tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @left_shift(%a: tensor<2xi32>, %b: tensor<3xi32>) {
  // expected-error@+1 {{'relax.left_shift' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.left_shift"(%a, %b) : (tensor<2xi32>, tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @right_shift(%a: tensor<2xi32>, %b: tensor<3xi32>) {
  // expected-error@+1 {{'relax.right_shift' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.right_shift"(%a, %b) : (tensor<2xi32>, tensor<3xi32>) -> tensor<3xi32>
  return
}

// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @where(%c: tensor<2xf32>, %a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'relax.where' op operand 'condition' must have bool elements, has f32}}
  %0 = "relax.where"(%c, %a, %b) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @prelu(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error@+1 {{'relax.prelu' op shapes [2, 3] and [2] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.prelu"(%x, %s) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @clip(%x: tensor<2xi1>) {
  // expected-error@+1 {{'relax.clip' op operand 'x' must have float or int or uint elements, has i1}}
  %0 = "relax.clip"(%x) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @astype(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.astype' op needs attribute 'dtype': an element type}}
  %0 = "relax.astype"(%x) : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @bitcast(%x: tensor<2xf32>) {
  // expected-error@+1 {{'relax.bitcast' op attribute 'dtype' is f16, expected a type of 4 bytes, as f32 has}}
  %0 = "relax.bitcast"(%x) {dtype = f16} : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @narrow(%x: tensor<2xf8E5M2>) {
  // expected-error@+1 {{'relax.add' op operand 'a' must have float or int or uint elements, has f8E5M2}}
  %0 = "relax.add"(%x, %x) : (tensor<2xf8E5M2>, tensor<2xf8E5M2>) -> tensor<2xf8E5M2>
  return
}

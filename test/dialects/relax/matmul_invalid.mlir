// RUN: legato-opt %s --split-input-file --verify-diagnostics

func.func @inner(%a: tensor<2x4xf32>, %b: tensor<5x3xf32>) {
  // expected-error@+1 {{'relax.matmul' op the inner sizes differ: 4 (last of a: [2, 4]) and 5 (of b: [5, 3])}}
  %0 = "relax.matmul"(%a, %b) : (tensor<2x4xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch(%a: tensor<2x4x5xf32>, %b: tensor<3x5x6xf32>) {
  // expected-error@+1 {{'relax.matmul' op shapes [2] and [3] do not broadcast: 2 and 3 at axis -1}}
  %0 = "relax.matmul"(%a, %b) : (tensor<2x4x5xf32>, tensor<3x5x6xf32>) -> tensor<2x4x6xf32>
  return
}

// -----

func.func @scalar(%a: tensor<f32>, %b: tensor<5x3xf32>) {
  // expected-error@+1 {{'relax.matmul' op operand 'a' must have rank 1 or more, is a scalar}}
  %0 = "relax.matmul"(%a, %b) : (tensor<f32>, tensor<5x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @symbols(%a: tensor<2x?xf32, #relax.dims<[2, "n"]>>, %b: tensor<?x3xf32, #relax.dims<["n + 1", 3]>>) {
  // expected-error@+1 {{'relax.matmul' op the inner sizes differ: n (last of a: [2, n]) and n + 1 (of b: [n + 1, 3])}}
  %0 = "relax.matmul"(%a, %b) : (tensor<2x?xf32, #relax.dims<[2, "n"]>>, tensor<?x3xf32, #relax.dims<["n + 1", 3]>>) -> tensor<2x3xf32>
  return
}

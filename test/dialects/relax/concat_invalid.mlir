// RUN: legato-opt %s --split-input-file --verify-diagnostics

// The op is upstream's, and so is its verifier.

func.func @sizes(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error@+1 {{'tensor.concat' op static concatenation size mismatch along non-concatenated dimension 0}}
  %0 = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  return
}

// RUN: legato-opt %s --tir-tie-results --split-input-file | filecheck %s

// A result that is computed elsewhere is tied to its output; one that lies there already is not.
// CHECK-LABEL: func.func private @cut(
// CHECK: %[[R:.*]] = linalg.exp
// CHECK: %[[T:.*]] = bufferization.materialize_in_destination %[[R]] in %arg1
// CHECK: return %[[T]]
func.func private @cut(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @tied(
// CHECK-NOT: materialize_in_destination
func.func private @tied(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

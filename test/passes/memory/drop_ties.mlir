// RUN: legato-opt %s --tir-drop-ties | filecheck %s

// What is computed in the output needs no tie; what is not keeps it.
// CHECK-LABEL: func.func private @there(
// CHECK-NOT: materialize_in_destination
// CHECK-LABEL: func.func private @elsewhere(
// CHECK: materialize_in_destination
func.func private @there(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @elsewhere(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %1 = bufferization.materialize_in_destination %x in %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

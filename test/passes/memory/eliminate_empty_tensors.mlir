// RUN: legato-opt %s --tir-eliminate-empty-tensors --split-input-file | filecheck %s

// A kernel computes in its output; main keeps its tensors, of which each becomes a buffer for a kernel to write.
// CHECK-LABEL: func.func private @tied(
// CHECK: linalg.exp {{.*}} outs(%arg1
// CHECK-LABEL: func.func @main(
// CHECK: %[[E:.*]] = tensor.empty()
// CHECK: linalg.exp {{.*}} outs(%[[E]] : tensor<4xf32>)
// CHECK: tensor.insert_slice
func.func @main(%x: tensor<4xf32>, %all: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.insert_slice %0 into %all[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @tied(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The functions that a kernel calls stay in the module while upstream's pass runs.
// CHECK-LABEL: func.func private @halve
// CHECK: call @scaled
func.func private @scaled(f32) -> f32
func.func private @halve(%x: tensor<8xf32>, %out: tensor<8xf32> {bufferization.writable = true, tir.out}) -> tensor<8xf32>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%out : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = func.call @scaled(%a) : (f32) -> f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

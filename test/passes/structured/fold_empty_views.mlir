// RUN: legato-opt %s --tir-fold-empty-views | filecheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>

// A reshape of a new tensor is a new tensor; that of an output stays.
// CHECK-LABEL: func.func private @known(
// CHECK: %[[NEW:.*]] = tensor.empty() : tensor<4x8xf32>
// CHECK: linalg.fill {{.*}}outs(%[[NEW]] :
// CHECK: tensor.expand_shape %arg0
func.func private @known(%out: tensor<32xf32> {bufferization.writable = true, tir.out}) -> tensor<32xf32> attributes {tir.prim_func} {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %2 = linalg.fill ins(%one : f32) outs(%1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = tensor.expand_shape %out [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4x8xf32>) outs(%3 : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %6 = arith.addf %x, %x : f32
    linalg.yield %6 : f32
  } -> tensor<4x8xf32>
  %5 = tensor.collapse_shape %4 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %5 : tensor<32xf32>
}

// Sizes that only the call knows are the reshape's; where it has none, it stays.
// CHECK-LABEL: func.func private @unknown(
// CHECK: tensor.empty(%arg1) : tensor<?x8xf32>
// CHECK: %[[ROWS:.*]] = tensor.empty(%arg1) : tensor<?x8xf32>
// CHECK: tensor.collapse_shape %[[ROWS]]
func.func private @unknown(%m: index, %n: index, %out: tensor<?x8xf32> {bufferization.writable = true, tir.out}) -> tensor<?x8xf32>
    attributes {tir.prim_func} {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty(%m) : tensor<?xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [%n, 8] : tensor<?xf32> into tensor<?x8xf32>
  %2 = linalg.fill ins(%one : f32) outs(%1 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = tensor.empty(%n) : tensor<?x8xf32>
  %4 = tensor.collapse_shape %3 [[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
  %5 = linalg.fill ins(%one : f32) outs(%4 : tensor<?xf32>) -> tensor<?xf32>
  %6 = tensor.expand_shape %5 [[0, 1]] output_shape [%n, 8] : tensor<?xf32> into tensor<?x8xf32>
  %7 = linalg.add ins(%2, %6 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%out : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %7 : tensor<?x8xf32>
}

// What is computed in the reshape is read in the tensor's own shape.
// CHECK-LABEL: func.func private @reshaped(
// CHECK: %[[NEW:.*]] = tensor.empty() : tensor<32xf32>
// CHECK: tensor.expand_shape %[[NEW]]
func.func private @reshaped(%b: tensor<32xf32>, %out: tensor<32xf32> {bufferization.writable = true, tir.out}) -> tensor<32xf32> attributes {tir.prim_func} {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %2 = linalg.fill ins(%one : f32) outs(%1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = linalg.exp ins(%2 : tensor<4x8xf32>) outs(%2 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = tensor.collapse_shape %3 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %5 = linalg.add ins(%4, %b : tensor<32xf32>, tensor<32xf32>) outs(%out : tensor<32xf32>) -> tensor<32xf32>
  return %5 : tensor<32xf32>
}

// RUN: legato-opt %s --split-input-file --tir-tie-outputs | filecheck %s

// What starts from a new tensor starts from the output; the op in the middle keeps its own.
// CHECK-LABEL: func.func private @chain(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[OUT:.*]]: tensor<4xf32> {tir.out})
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: %[[A:.*]] = linalg.exp ins(%[[X]] : {{.*}}) outs(%[[E]] :
// CHECK: %[[B:.*]] = linalg.tanh ins(%[[A]] : {{.*}}) outs(%[[OUT]] :
// CHECK: return %[[B]]
func.func private @chain(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.tanh ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// Through a reshape the output is reshaped too.
// CHECK-LABEL: func.func private @reshaped(
// CHECK: %[[R:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1]] : tensor<2x3xf32> into tensor<6xf32>
// CHECK: linalg.exp ins(%arg0 : tensor<6xf32>) outs(%[[R]] : tensor<6xf32>)
func.func private @reshaped(%x: tensor<6xf32>, %out: tensor<2x3xf32> {tir.out}) -> tensor<2x3xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<6xf32>
  %a = linalg.exp ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %b = tensor.expand_shape %a [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
  return %b : tensor<2x3xf32>
}

// -----

// A view of an input is no new tensor: tir-tie-results ties it.
// CHECK-LABEL: func.func private @view(
// CHECK-NEXT: %[[V:.*]] = tensor.expand_shape %arg0
// CHECK-NEXT: return %[[V]]
func.func private @view(%x: tensor<6xf32>, %out: tensor<2x3xf32> {tir.out}) -> tensor<2x3xf32> attributes {tir.prim_func} {
  %b = tensor.expand_shape %x [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
  return %b : tensor<2x3xf32>
}

// -----

// A function of the graph has no output to start from.
// CHECK-LABEL: func.func @main(
// CHECK: tensor.empty
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// Sizes that are not static are those of the tensor in whose place the output comes.
// CHECK-LABEL: func.func private @repeated(
// CHECK-SAME: %[[X:.*]]: tensor<?x5xf32>, %[[N:.*]]: index, %[[OUT:.*]]: tensor<?x5xf32> {tir.out})
// CHECK: %[[D:.*]] = tensor.dim %[[X]]
// CHECK: %[[R:.*]] = tensor.expand_shape %[[OUT]] {{\[\[}}0, 1], [2]] output_shape [%[[N]], %[[D]], 5]
// CHECK: linalg.generic {{.*}} outs(%[[R]] : tensor<?x?x5xf32>)
#x = affine_map<(d0, d1, d2) -> (d1, d2)>
#y = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func private @repeated(%x: tensor<?x5xf32>, %n: index, %out: tensor<?x5xf32> {tir.out}) -> tensor<?x5xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x5xf32>
  %e = tensor.empty(%n, %d) : tensor<?x?x5xf32>
  %a = linalg.generic {indexing_maps = [#x, #y], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x5xf32>) outs(%e : tensor<?x?x5xf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    } -> tensor<?x?x5xf32>
  %b = tensor.collapse_shape %a [[0, 1], [2]] : tensor<?x?x5xf32> into tensor<?x5xf32>
  return %b : tensor<?x5xf32>
}

// -----

// The sizes of a collapsed output are its own.
// CHECK-LABEL: func.func private @split(
// CHECK: %[[R:.*]] = tensor.collapse_shape %arg2 {{\[\[}}0, 1]] : tensor<?x5xf32> into tensor<?xf32>
// CHECK: linalg.exp ins(%arg0 : tensor<?xf32>) outs(%[[R]] : tensor<?xf32>)
func.func private @split(%x: tensor<?xf32>, %n: index, %out: tensor<?x5xf32> {tir.out}) -> tensor<?x5xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%d) : tensor<?xf32>
  %a = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %b = tensor.expand_shape %a [[0, 1]] output_shape [%n, 5] : tensor<?xf32> into tensor<?x5xf32>
  return %b : tensor<?x5xf32>
}

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

// Of sizes that only the call knows: those of the new tensor, or where two reshapes follow each other, one unknown size of a group.
// CHECK-LABEL: func.func private @reshaped_rows(
// CHECK: %[[ROWS:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x2x3xf32>
// CHECK: %[[R:.*]] = tensor.expand_shape %arg1 {{\[\[}}0], [1, 2]] output_shape [%[[ROWS]], 2, 3] : tensor<?x6xf32> into tensor<?x2x3xf32>
// CHECK: linalg.exp ins(%arg0 : tensor<?x2x3xf32>) outs(%[[R]] : tensor<?x2x3xf32>)
func.func private @reshaped_rows(%x: tensor<?x2x3xf32>, %out: tensor<?x6xf32> {tir.out}) -> tensor<?x6xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x3xf32>
  %e = tensor.empty(%n) : tensor<?x2x3xf32>
  %a = linalg.exp ins(%x : tensor<?x2x3xf32>) outs(%e : tensor<?x2x3xf32>) -> tensor<?x2x3xf32>
  %b = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x2x3xf32> into tensor<?x6xf32>
  return %b : tensor<?x6xf32>
}

// CHECK-LABEL: func.func private @reshaped_all(
// CHECK: %[[R:.*]] = tensor.expand_shape %arg3 {{\[\[}}0, 1]] output_shape [%arg1, %arg2] : tensor<?xf32> into tensor<?x?xf32>
// CHECK: linalg.exp ins({{.*}}) outs(%[[R]] : tensor<?x?xf32>)
func.func private @reshaped_all(%x: tensor<?x?xf32>, %n: index, %m: index, %out: tensor<?xf32> {tir.out}) -> tensor<?xf32> attributes {tir.prim_func} {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %a = linalg.exp ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %b = tensor.collapse_shape %a [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  return %b : tensor<?xf32>
}

// CHECK-LABEL: func.func private @reshaped_twice(
// CHECK: %[[ALL:.*]] = tensor.dim %arg1, %{{.*}} : tensor<?xf32>
// CHECK: %[[ROWS:.*]] = arith.divui %[[ALL]], %{{.*}}
// CHECK: %[[R:.*]] = tensor.expand_shape %arg1 {{\[\[}}0, 1]] output_shape [%[[ROWS]], 6] : tensor<?xf32> into tensor<?x6xf32>
// CHECK: %[[C:.*]] = tensor.expand_shape %[[R]] {{\[\[}}0], [1, 2]] output_shape [%{{.*}}, 2, 3] : tensor<?x6xf32> into tensor<?x2x3xf32>
// CHECK: linalg.exp ins({{.*}}) outs(%[[C]] : tensor<?x2x3xf32>)
func.func private @reshaped_twice(%x: tensor<?x2x3xf32>, %out: tensor<?xf32> {tir.out}) -> tensor<?xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x3xf32>
  %e = tensor.empty(%n) : tensor<?x2x3xf32>
  %a = linalg.exp ins(%x : tensor<?x2x3xf32>) outs(%e : tensor<?x2x3xf32>) -> tensor<?x2x3xf32>
  %b = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x2x3xf32> into tensor<?x6xf32>
  %c = tensor.collapse_shape %b [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>
  return %c : tensor<?xf32>
}

// CHECK-LABEL: func.func private @reshaped_unknown(
// CHECK-NOT: tensor.expand_shape
func.func private @reshaped_unknown(%x: tensor<?x?x2x3xf32>, %n: index, %m: index, %out: tensor<?xf32> {tir.out}) -> tensor<?xf32> attributes {tir.prim_func} {
  %e = tensor.empty(%n, %m) : tensor<?x?x2x3xf32>
  %a = linalg.exp ins(%x : tensor<?x?x2x3xf32>) outs(%e : tensor<?x?x2x3xf32>) -> tensor<?x?x2x3xf32>
  %b = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<?x?x2x3xf32> into tensor<?x?x6xf32>
  %c = tensor.collapse_shape %b [[0, 1, 2]] : tensor<?x?x6xf32> into tensor<?xf32>
  return %c : tensor<?xf32>
}

// Nothing is divided by the 0 elements of a row.
// CHECK-LABEL: func.func private @reshaped_empty(
// CHECK-NOT: arith.divui
func.func private @reshaped_empty(%x: tensor<?x0x3xf32>, %n: index, %out: tensor<?xf32> {tir.out}) -> tensor<?xf32> attributes {tir.prim_func} {
  %e = tensor.empty(%n) : tensor<?x0x3xf32>
  %a = linalg.exp ins(%x : tensor<?x0x3xf32>) outs(%e : tensor<?x0x3xf32>) -> tensor<?x0x3xf32>
  %b = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x0x3xf32> into tensor<?x0xf32>
  %c = tensor.collapse_shape %b [[0, 1]] : tensor<?x0xf32> into tensor<?xf32>
  return %c : tensor<?xf32>
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

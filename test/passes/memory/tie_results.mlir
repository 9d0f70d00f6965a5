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

// -----

// A loop whose steps give another tensor than its own: each writes it there, also in a loop around it.
// CHECK-LABEL: func.func private @steps(
// CHECK: scf.for {{.*}} iter_args(%[[OUTER:.*]] = %arg1)
// CHECK:   scf.for {{.*}} iter_args(%[[INNER:.*]] = %[[OUTER]])
// CHECK:     %[[ROW:.*]] = tensor.extract_slice %arg0
// CHECK:     %[[TIED:.*]] = bufferization.materialize_in_destination %[[ROW]] in %[[INNER]]
// CHECK:     scf.yield %[[TIED]]
// CHECK-NOT: materialize_in_destination
// CHECK: return
func.func private @steps(%x: tensor<8x4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %out) -> (tensor<4xf32>) {
    %1 = scf.for %j = %c0 to %c8 step %c1 iter_args(%b = %a) -> (tensor<4xf32>) {
      %row = tensor.extract_slice %x[%j, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<4xf32>
      scf.yield %row : tensor<4xf32>
    }
    scf.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// RUN: legato-opt %s --split-input-file --tir-gather-rows | filecheck %s

// Rows at computed places: a loop over the indices, and a copy of each row.
// CHECK-LABEL: func.func private @rows
// CHECK-NOT: linalg.generic
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} iter_args(%[[OUT:.*]] = %arg2)
// CHECK: %[[AT:.*]] = tensor.extract %arg1[%[[I]]]
// CHECK: %[[ROW:.*]] = tensor.extract_slice %arg0[%[[AT]], 0] [1, 64] [1, 1]
// CHECK: tensor.insert_slice %[[ROW]] into %[[OUT]][%[[I]], 0] [1, 64] [1, 1]
func.func private @rows(%x: tensor<100x64xf32>, %at: tensor<5xindex>, %out: tensor<5x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<5x64xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<5xindex>) outs(%out : tensor<5x64xf32>) {
  ^bb0(%i: index, %o: f32):
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%i, %j] : tensor<100x64xf32>
    linalg.yield %v : f32
  } -> tensor<5x64xf32>
  return %0 : tensor<5x64xf32>
}

// -----

// Many rows of known sizes: a parallel loop.
// CHECK-LABEL: func.func private @many
// CHECK: scf.forall (%[[N:.*]], %[[I:.*]]) in (3, 700) shared_outs(%[[OUT:.*]] = %arg2)
// CHECK: %[[AT:.*]] = tensor.extract %arg1[%[[I]]]
// CHECK: %[[ROW:.*]] = tensor.extract_slice %arg0[%[[N]], %[[AT]], 0] [1, 1, 64] [1, 1, 1]
// CHECK: tensor.parallel_insert_slice %[[ROW]] into %[[OUT]][%[[N]], %[[I]], 0] [1, 1, 64] [1, 1, 1]
func.func private @many(%x: tensor<3x100x64xf32>, %at: tensor<700xindex>, %out: tensor<3x700x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<3x700x64xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(n, i, j) -> (i)>, affine_map<(n, i, j) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%at : tensor<700xindex>) outs(%out : tensor<3x700x64xf32>) {
  ^bb0(%i: index, %o: f32):
    %n = linalg.index 0 : index
    %j = linalg.index 2 : index
    %v = tensor.extract %x[%n, %i, %j] : tensor<3x100x64xf32>
    linalg.yield %v : f32
  } -> tensor<3x700x64xf32>
  return %0 : tensor<3x700x64xf32>
}

// -----

// The innermost loop is a place of the row, too: the nest stays.
// CHECK-LABEL: func.func private @diagonals
// CHECK: linalg.generic
func.func private @diagonals(%x: tensor<2x2x2xf32>, %out: tensor<2x2xf32> {tir.out, bufferization.writable = true})
    -> tensor<2x2xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%out : tensor<2x2xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.muli %i, %i : index
    %v = tensor.extract %x[%j, %s, %j] : tensor<2x2x2xf32>
    linalg.yield %v : f32
  } -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// RUN: legato-opt %s --tir-nest-slices --split-input-file | filecheck %s
// The first 16 of 19 rows are written, and inserted into the slice of all 19: they become a slice of that one.

// CHECK-LABEL: func.func private @peeled
// CHECK: %[[ALL:.*]] = tensor.extract_slice %arg2[%arg1, 0] [19, 64] [1, 1]
// CHECK: %[[WHOLE:.*]] = tensor.extract_slice %[[ALL]][0, 0] [16, 64] [1, 1] : tensor<19x64xf32> to tensor<16x64xf32>
// CHECK: tensor.cast %[[WHOLE]]
// CHECK: tensor.insert_slice %{{.*}} into %[[ALL]][0, 0] [16, 64] [1, 1]
func.func private @peeled(%x: tensor<16xf32>, %at: index, %out: tensor<38x64xf32> {tir.out, bufferization.writable = true}) -> tensor<38x64xf32> attributes {tir.prim_func} {
  %p = ub.poison : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %v = vector.transfer_read %x[%c0], %p {in_bounds = [true]} : tensor<16xf32>, vector<16xf32>
  %all = tensor.extract_slice %out[%at, 0] [19, 64] [1, 1] : tensor<38x64xf32> to tensor<19x64xf32>
  %whole = tensor.extract_slice %out[%at, 0] [16, 64] [1, 1] : tensor<38x64xf32> to tensor<16x64xf32>
  %cast = tensor.cast %whole : tensor<16x64xf32> to tensor<?x64xf32>
  %written = scf.for %i = %c0 to %c16 step %c1 iter_args(%into = %cast) -> (tensor<?x64xf32>) {
    %next = vector.transfer_write %v, %into[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<?x64xf32>
    scf.yield %next : tensor<?x64xf32>
  }
  %back = tensor.cast %written : tensor<?x64xf32> to tensor<16x64xf32>
  %inserted = tensor.insert_slice %back into %all[0, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<19x64xf32>
  %r = tensor.insert_slice %inserted into %out[%at, 0] [19, 64] [1, 1] : tensor<19x64xf32> into tensor<38x64xf32>
  return %r : tensor<38x64xf32>
}

// -----

// Inserted at another place than it comes from; a slice that begins elsewhere; one of another tensor: these are what they say.
// CHECK-LABEL: func.func private @elsewhere
// CHECK: tensor.extract_slice %arg2[%arg1, 0] [19, 64]
// CHECK: tensor.extract_slice %arg2[%arg1, 0] [16, 64]
// CHECK: tensor.insert_slice
// CHECK: tensor.extract_slice %arg2[%arg1, 0] [19, 64]
// CHECK: tensor.extract_slice %arg2[0, 0] [16, 64]
// CHECK: tensor.insert_slice
// CHECK: tensor.extract_slice %arg2[%arg1, 0] [19, 64]
// CHECK: tensor.extract_slice %arg0[%arg1, 0] [16, 64]
func.func private @elsewhere(%other: tensor<38x64xf32>, %at: index, %out: tensor<38x64xf32> {tir.out, bufferization.writable = true}) -> tensor<38x64xf32> attributes {tir.prim_func} {
  %all = tensor.extract_slice %out[%at, 0] [19, 64] [1, 1] : tensor<38x64xf32> to tensor<19x64xf32>
  %moved = tensor.extract_slice %out[%at, 0] [16, 64] [1, 1] : tensor<38x64xf32> to tensor<16x64xf32>
  %a = tensor.insert_slice %moved into %all[3, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<19x64xf32>
  %1 = tensor.insert_slice %a into %out[%at, 0] [19, 64] [1, 1] : tensor<19x64xf32> into tensor<38x64xf32>
  %all1 = tensor.extract_slice %out[%at, 0] [19, 64] [1, 1] : tensor<38x64xf32> to tensor<19x64xf32>
  %first = tensor.extract_slice %out[0, 0] [16, 64] [1, 1] : tensor<38x64xf32> to tensor<16x64xf32>
  %b = tensor.insert_slice %first into %all1[0, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<19x64xf32>
  %2 = tensor.insert_slice %b into %1[%at, 0] [19, 64] [1, 1] : tensor<19x64xf32> into tensor<38x64xf32>
  %all2 = tensor.extract_slice %out[%at, 0] [19, 64] [1, 1] : tensor<38x64xf32> to tensor<19x64xf32>
  %foreign = tensor.extract_slice %other[%at, 0] [16, 64] [1, 1] : tensor<38x64xf32> to tensor<16x64xf32>
  %c = tensor.insert_slice %foreign into %all2[0, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<19x64xf32>
  %3 = tensor.insert_slice %c into %2[%at, 0] [19, 64] [1, 1] : tensor<19x64xf32> into tensor<38x64xf32>
  return %3 : tensor<38x64xf32>
}

// -----

// Slices with steps: every other row is no beginning of the rows.
// CHECK-LABEL: func.func private @steps
// CHECK: tensor.extract_slice %arg1[%arg0, 0] [19, 64] [1, 1]
// CHECK: tensor.extract_slice %arg1[%arg0, 0] [8, 64] [2, 1]
// CHECK: tensor.insert_slice
func.func private @steps(%at: index, %out: tensor<38x64xf32> {tir.out, bufferization.writable = true}) -> tensor<38x64xf32> attributes {tir.prim_func} {
  %all = tensor.extract_slice %out[%at, 0] [19, 64] [1, 1] : tensor<38x64xf32> to tensor<19x64xf32>
  %rows = tensor.extract_slice %out[%at, 0] [8, 64] [2, 1] : tensor<38x64xf32> to tensor<8x64xf32>
  %a = tensor.insert_slice %rows into %all[0, 0] [8, 64] [1, 1] : tensor<8x64xf32> into tensor<19x64xf32>
  %1 = tensor.insert_slice %a into %out[%at, 0] [19, 64] [1, 1] : tensor<19x64xf32> into tensor<38x64xf32>
  return %1 : tensor<38x64xf32>
}

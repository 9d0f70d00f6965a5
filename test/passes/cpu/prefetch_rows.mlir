// RUN: legato-opt %s --tir-prefetch-rows=target=llvm{cpu=x86-64-v3} --split-input-file | filecheck %s
// Rows of 3 MB, six times the second cache: each of the 512 steps of a tile of six rows fetches eight elements of the next six.

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func private @large
// CHECK: scf.for %[[ROW:[^ ]*]] =
// CHECK: scf.for %[[K:[^ ]*]] =
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[AT:.*]] = arith.muli %[[K]], %[[C8]]
// CHECK-DAG: %[[C6:.*]] = arith.constant 6 : index
// CHECK-DAG: %[[NEXT:.*]] = arith.addi %[[ROW]], %[[C6]]
// CHECK: memref.prefetch %arg0[%[[NEXT]], %[[AT]]], read, locality<2>, data : memref<1536x512xf32>
// CHECK-NOT: memref.prefetch
// CHECK: vector.contract
func.func private @large(%x: memref<1536x512xf32>, %w: memref<512x32xf32>, %out: memref<1536x32xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c512 = arith.constant 512 : index
  %c1536 = arith.constant 1536 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<6x32xf32>
  scf.for %i = %c0 to %c1536 step %c6 {
    %r = scf.for %k = %c0 to %c512 step %c1 iter_args(%acc = %zero) -> (vector<6x32xf32>) {
      %0 = vector.transfer_read %x[%i, %k], %p {in_bounds = [true, true]} : memref<1536x512xf32>, vector<6x1xf32>
      %1 = vector.transfer_read %w[%k, %c0], %p {in_bounds = [true]} : memref<512x32xf32>, vector<32xf32>
      %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
      %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<6x1xf32>, vector<1x32xf32> into vector<6x32xf32>
      scf.yield %3 : vector<6x32xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<6x32xf32>, memref<1536x32xf32>
  }
  return
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
// A part of each row: what follows is no row of the next tile.
// CHECK-LABEL: func.func private @part
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @part(%x: memref<1536x1024xf32>, %w: memref<512x32xf32>, %out: memref<6x32xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<6x32xf32>
  %r = scf.for %k = %c0 to %c512 step %c1 iter_args(%acc = %zero) -> (vector<6x32xf32>) {
    %0 = vector.transfer_read %x[%c0, %k], %p {in_bounds = [true, true]} : memref<1536x1024xf32>, vector<6x1xf32>
    %1 = vector.transfer_read %w[%k, %c0], %p {in_bounds = [true]} : memref<512x32xf32>, vector<32xf32>
    %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
    %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<6x1xf32>, vector<1x32xf32> into vector<6x32xf32>
    scf.yield %3 : vector<6x32xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : vector<6x32xf32>, memref<6x32xf32>
  return
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
// Rows of 96 KB stay in the cache.
// CHECK-LABEL: func.func private @small
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @small(%x: memref<48x512xf32>, %w: memref<512x32xf32>, %out: memref<48x32xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c48 = arith.constant 48 : index
  %c512 = arith.constant 512 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<6x32xf32>
  scf.for %i = %c0 to %c48 step %c6 {
    %r = scf.for %k = %c0 to %c512 step %c1 iter_args(%acc = %zero) -> (vector<6x32xf32>) {
      %0 = vector.transfer_read %x[%i, %k], %p {in_bounds = [true, true]} : memref<48x512xf32>, vector<6x1xf32>
      %1 = vector.transfer_read %w[%k, %c0], %p {in_bounds = [true]} : memref<512x32xf32>, vector<32xf32>
      %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
      %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<6x1xf32>, vector<1x32xf32> into vector<6x32xf32>
      scf.yield %3 : vector<6x32xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<6x32xf32>, memref<48x32xf32>
  }
  return
}

// -----

// A sum of rows is no product: nothing is computed for long enough to hide a fetch.
// CHECK-LABEL: func.func private @sum
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @sum(%x: memref<1536x512xf32>, %out: memref<1536x1xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c512 = arith.constant 512 : index
  %c1536 = arith.constant 1536 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<6x1xf32>
  scf.for %i = %c0 to %c1536 step %c6 {
    %r = scf.for %k = %c0 to %c512 step %c1 iter_args(%acc = %zero) -> (vector<6x1xf32>) {
      %0 = vector.transfer_read %x[%i, %k], %p {in_bounds = [true, true]} : memref<1536x512xf32>, vector<6x1xf32>
      %1 = arith.addf %acc, %0 : vector<6x1xf32>
      scf.yield %1 : vector<6x1xf32>
    }
    vector.transfer_write %r, %out[%i, %c0] {in_bounds = [true, true]} : vector<6x1xf32>, memref<1536x1xf32>
  }
  return
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#plus = affine_map<()[s0, s1] -> (s0 + s1)>
// Blocks of 96 rows, 192 KB, which stay in the cache while all columns are computed.
// CHECK-LABEL: func.func private @blocks
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @blocks(%x: memref<1536x512xf32>, %w: memref<512x64xf32>, %out: memref<1536x64xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %c512 = arith.constant 512 : index
  %c1536 = arith.constant 1536 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<6x32xf32>
  scf.for %b = %c0 to %c1536 step %c96 {
    scf.for %j = %c0 to %c64 step %c32 {
      scf.for %i = %c0 to %c96 step %c6 {
        %row = affine.apply #plus()[%b, %i]
        %r = scf.for %k = %c0 to %c512 step %c1 iter_args(%acc = %zero) -> (vector<6x32xf32>) {
          %0 = vector.transfer_read %x[%row, %k], %p {in_bounds = [true, true]} : memref<1536x512xf32>, vector<6x1xf32>
          %1 = vector.transfer_read %w[%k, %j], %p {in_bounds = [true]} : memref<512x64xf32>, vector<32xf32>
          %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
          %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<6x1xf32>, vector<1x32xf32> into vector<6x32xf32>
          scf.yield %3 : vector<6x32xf32>
        }
        vector.transfer_write %r, %out[%row, %j] {in_bounds = [true, true]} : vector<6x32xf32>, memref<1536x64xf32>
      }
    }
  }
  return
}

// RUN: legato-opt %s --tir-prefetch-epilogues --split-input-file | filecheck %s
// The tile of 2 x 32 of a residual of 256 KB is added to a product: its four lines are fetched before the product's reduction, and the
// index arithmetic behind it moves there. The bias of 256 bytes stays in the caches.

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#sum = affine_map<(a, b) -> (a + b)>
// CHECK-LABEL: func.func private @residual
// CHECK: scf.for %[[I:[^ ]*]] =
// CHECK: %[[ROW:.*]] = affine.apply #{{.*}}(%arg4, %[[I]])
// CHECK-COUNT-4: memref.prefetch %arg2[{{.*}}], read, locality<2>, data : memref<1024x64xf32>
// CHECK-NOT: memref.prefetch
// CHECK: scf.for
// CHECK: vector.contract
// CHECK: vector.transfer_read %arg2[%[[ROW]], %{{.*}}]
func.func private @residual(%x: memref<1024x64xf32>, %w: memref<64x64xf32>, %r: memref<1024x64xf32>, %b: memref<64xf32>, %start: index, %out: memref<1024x64xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<2x32xf32>
  scf.for %i = %c0 to %c512 step %c2 {
    %t = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> (vector<2x32xf32>) {
      %0 = vector.transfer_read %x[%i, %k], %p {in_bounds = [true, true]} : memref<1024x64xf32>, vector<2x1xf32>
      %1 = vector.transfer_read %w[%k, %c0], %p {in_bounds = [true]} : memref<64x64xf32>, vector<32xf32>
      %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
      %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<2x1xf32>, vector<1x32xf32> into vector<2x32xf32>
      scf.yield %3 : vector<2x32xf32>
    }
    %row = affine.apply #sum(%start, %i)
    %residual = vector.transfer_read %r[%row, %c0], %p {in_bounds = [true, true]} : memref<1024x64xf32>, vector<2x32xf32>
    %bias = vector.transfer_read %b[%c0], %p {in_bounds = [true, true], permutation_map = affine_map<(d0) -> (0, d0)>} : memref<64xf32>, vector<2x32xf32>
    %sum = arith.addf %t, %residual : vector<2x32xf32>
    %all = arith.addf %sum, %bias : vector<2x32xf32>
    vector.transfer_write %all, %out[%row, %c0] {in_bounds = [true, true]} : vector<2x32xf32>, memref<1024x64xf32>
  }
  return
}

// -----

// What the reduction reads is in the caches behind it. An index that depends on the result is not known in front of it.
// CHECK-LABEL: func.func private @again
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @again(%x: memref<1024x64xf32>, %y: memref<1024x64xf32>, %out: memref<1024x64xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %t = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> (vector<16xf32>) {
    %0 = vector.transfer_read %x[%c0, %k], %p {in_bounds = [true]} : memref<1024x64xf32>, vector<16xf32>
    %1 = arith.addf %acc, %0 : vector<16xf32>
    scf.yield %1 : vector<16xf32>
  }
  %first = vector.extract %t[0] : f32 from vector<16xf32>
  %number = arith.fptoui %first : f32 to i64
  %row = arith.index_cast %number : i64 to index
  %2 = vector.transfer_read %x[%c0, %c0], %p {in_bounds = [true]} : memref<1024x64xf32>, vector<16xf32>
  %3 = vector.transfer_read %y[%row, %c0], %p {in_bounds = [true]} : memref<1024x64xf32>, vector<16xf32>
  %4 = arith.addf %2, %3 : vector<16xf32>
  %5 = arith.addf %4, %t : vector<16xf32>
  vector.transfer_write %5, %out[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, memref<1024x64xf32>
  return
}

// -----

// What is read behind two reductions is fetched once, in front of the first.
// CHECK-LABEL: func.func private @twice
// CHECK: memref.prefetch %arg1[
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func private @twice(%x: memref<1024x64xf32>, %y: memref<1024x64xf32>, %out: memref<1024x64xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %s = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> (vector<16xf32>) {
    %0 = vector.transfer_read %x[%c0, %k], %p {in_bounds = [true]} : memref<1024x64xf32>, vector<16xf32>
    %1 = arith.addf %acc, %0 : vector<16xf32>
    scf.yield %1 : vector<16xf32>
  }
  %t = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %s) -> (vector<16xf32>) {
    %0 = vector.transfer_read %x[%c16, %k], %p {in_bounds = [true]} : memref<1024x64xf32>, vector<16xf32>
    %1 = arith.mulf %acc, %0 : vector<16xf32>
    scf.yield %1 : vector<16xf32>
  }
  %2 = vector.transfer_read %y[%c0, %c0], %p {in_bounds = [true]} : memref<1024x64xf32>, vector<16xf32>
  %3 = arith.addf %2, %t : vector<16xf32>
  vector.transfer_write %3, %out[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, memref<1024x64xf32>
  return
}

// RUN: legato-opt %s --tir-prefetch-weights --split-input-file | filecheck %s
// The reduction of a product fetches the lines of a large weight 16 steps ahead: here two of 64 bytes in each step. One tile of rows alone
// reads each block of columns: there is no time to fetch the next one.

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func private @large
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[S:.*]] = arith.constant 16 : index
// CHECK: %[[L:.*]] = arith.addi %[[K]], %[[S]] : index
// CHECK: memref.prefetch %arg1[%[[B:.*]], %[[L]], %[[C:.*]], %[[C]]], read, locality<3>, data : memref<4x768x1x32xf32>
// CHECK: %[[N:.*]] = arith.addi %[[C]], %{{.*}} : index
// CHECK: memref.prefetch %arg1[%[[B]], %[[L]], %[[C]], %[[N]]], read, locality<3>, data : memref<4x768x1x32xf32>
// CHECK-NOT: memref.prefetch
// CHECK: vector.contract
func.func private @large(%x: memref<8x768xf32>, %w: memref<4x768x1x32xf32>, %b: index, %out: memref<8x32xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c768 = arith.constant 768 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<8x32xf32>
  %r = scf.for %k = %c0 to %c768 step %c1 iter_args(%acc = %zero) -> (vector<8x32xf32>) {
    %0 = vector.transfer_read %x[%c0, %k], %p {in_bounds = [true, true]} : memref<8x768xf32>, vector<8x1xf32>
    %1 = vector.transfer_read %w[%b, %k, %c0, %c0], %p {in_bounds = [true]} : memref<4x768x1x32xf32>, vector<32xf32>
    %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
    %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<8x1xf32>, vector<1x32xf32> into vector<8x32xf32>
    scf.yield %3 : vector<8x32xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x32xf32>, memref<8x32xf32>
  return
}

// -----

#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
// A weight of 8 KB stays in the caches.
// CHECK-LABEL: func.func private @small
// CHECK-NOT: memref.prefetch
func.func private @small(%x: memref<8x64xf32>, %w: memref<64x32xf32>, %out: memref<8x32xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<8x32xf32>
  %r = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> (vector<8x32xf32>) {
    %0 = vector.transfer_read %x[%c0, %k], %p {in_bounds = [true, true]} : memref<8x64xf32>, vector<8x1xf32>
    %1 = vector.transfer_read %w[%k, %c0], %p {in_bounds = [true]} : memref<64x32xf32>, vector<32xf32>
    %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
    %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<8x1xf32>, vector<1x32xf32> into vector<8x32xf32>
    scf.yield %3 : vector<8x32xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x32xf32>, memref<8x32xf32>
  return
}

// -----

#block = affine_map<(d0) -> (d0 floordiv 32)>
#rows = affine_map<(m, n, k) -> (m, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
// Five tiles of rows read each block of 768 x 32: in each of their 5 x 768 steps, 8 of the next block's elements are fetched into the second
// level of caches, behind those of the tiles before. Fetches stand in front of all reads.
// CHECK-LABEL: func.func private @blocks
// CHECK: scf.for
// CHECK: %[[B:.*]] = affine.apply
// CHECK: scf.for %[[ROW:[^ ]*]] = %[[C0:[^ ]*]] to %{{[^ ]*}} step %[[C8:[^ ]*]]
// CHECK: scf.for %[[K:[^ ]*]] =
// CHECK: %[[DONE:.*]] = arith.subi %[[ROW]], %[[C0]]
// CHECK: %[[TILE:.*]] = arith.divui %[[DONE]], %[[C8]]
// CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %[[TILE]]
// CHECK: %[[BEFORE:.*]] = arith.muli %[[NUMBER]], %{{.*}}
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %arg1 {{.*}} into memref<98304xf32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[B]], %{{.*}}
// CHECK: %[[START:.*]] = arith.muli %[[NEXT]], %{{.*}}
// CHECK: %[[AT:.*]] = arith.addi %[[START]], %{{.*}}
// CHECK: memref.prefetch %[[FLAT]][%[[AT]]], read, locality<2>, data : memref<98304xf32>
// CHECK-COUNT-2: memref.prefetch %arg1[%[[B]], {{.*}} locality<3>
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read %arg0
// CHECK: vector.contract
func.func private @blocks(%x: memref<40x768xf32>, %w: memref<4x768x1x32xf32>, %out: memref<40x128xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %c128 = arith.constant 128 : index
  %c768 = arith.constant 768 : index
  %p = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<8x32xf32>
  scf.for %n = %c0 to %c128 step %c32 {
    %b = affine.apply #block(%n)
    scf.for %m = %c0 to %c40 step %c8 {
      %r = scf.for %k = %c0 to %c768 step %c1 iter_args(%acc = %zero) -> (vector<8x32xf32>) {
        %0 = vector.transfer_read %x[%m, %k], %p {in_bounds = [true, true]} : memref<40x768xf32>, vector<8x1xf32>
        %1 = vector.transfer_read %w[%b, %k, %c0, %c0], %p {in_bounds = [true]} : memref<4x768x1x32xf32>, vector<32xf32>
        %2 = vector.shape_cast %1 : vector<32xf32> to vector<1x32xf32>
        %3 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %0, %2, %acc : vector<8x1xf32>, vector<1x32xf32> into vector<8x32xf32>
        scf.yield %3 : vector<8x32xf32>
      }
      vector.transfer_write %r, %out[%m, %n] {in_bounds = [true, true]} : vector<8x32xf32>, memref<40x128xf32>
    }
  }
  return
}

// -----

#rows = affine_map<(m, n, k, p) -> (m, k, p)>
#columns = affine_map<(m, n, k, p) -> (k, n, p)>
#out = affine_map<(m, n, k, p) -> (m, n)>
#sixteenth = affine_map<(k) -> (k floordiv 16)>
// A step that multiplies matrices of pairs reads 2 KB, in 16 groups of 32 columns. Two tiles of rows fetch 1 KB of the next block each: 16
// lines, none of them of this block. What a step reads is computed from the loop's variable.
// CHECK-LABEL: func.func private @pairs
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %c64
// CHECK: scf.for
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %arg1
// CHECK: scf.for %[[LINE:.*]] = %c0{{.*}} to %c512{{.*}} step %c32
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[LINE]] : index
// CHECK: memref.prefetch %[[FLAT]][%[[AT]]], read, locality<2>, data : memref<589824xbf16>
// CHECK-NOT: memref.prefetch
// CHECK: vector.contract
func.func private @pairs(%x: memref<64x384x2xbf16>, %w: memref<24x24x1x16x32x2xbf16>, %out: memref<64x768xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c384 = arith.constant 384 : index
  %p = ub.poison : bf16
  %zero = arith.constant dense<0.0> : vector<32x32xf32>
  scf.for %b = %c0 to %c24 step %c1 {
    %column = arith.muli %b, %c32 : index
    scf.for %m = %c0 to %c64 step %c32 {
      %r = scf.for %k = %c0 to %c384 step %c16 iter_args(%acc = %zero) -> (vector<32x32xf32>) {
        %0 = vector.transfer_read %x[%m, %k, %c0], %p {in_bounds = [true, true, true]} : memref<64x384x2xbf16>, vector<32x16x2xbf16>
        %s = affine.apply #sixteenth(%k)
        %1 = vector.transfer_read %w[%b, %s, %c0, %c0, %c0, %c0], %p {in_bounds = [true, true, true]} : memref<24x24x1x16x32x2xbf16>, vector<16x32x2xbf16>
        %2 = arith.extf %0 : vector<32x16x2xbf16> to vector<32x16x2xf32>
        %3 = arith.extf %1 : vector<16x32x2xbf16> to vector<16x32x2xf32>
        %4 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %2, %3, %acc : vector<32x16x2xf32>, vector<16x32x2xf32> into vector<32x32xf32>
        scf.yield %4 : vector<32x32xf32>
      }
      vector.transfer_write %r, %out[%m, %column] {in_bounds = [true, true]} : vector<32x32xf32>, memref<64x768xf32>
    }
  }
  return
}

// -----

#rows = affine_map<(m, n, k, p) -> (m, k, p)>
#columns = affine_map<(m, n, k, p) -> (k, n, p)>
#out = affine_map<(m, n, k, p) -> (m, n)>
// A loop that fetches the next block itself does so once.
// CHECK-LABEL: func.func private @fetches
// CHECK-COUNT-1: memref.prefetch
// CHECK-NOT: memref.prefetch
// CHECK: vector.contract
func.func private @fetches(%x: memref<64x384x2xbf16>, %w: memref<24x24x16x32x2xbf16>, %out: memref<64x768xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %p = ub.poison : bf16
  %zero = arith.constant dense<0.0> : vector<32x32xf32>
  scf.for %b = %c0 to %c24 step %c1 {
    %column = arith.muli %b, %c32 : index
    %next = arith.addi %b, %c1 : index
    scf.for %m = %c0 to %c64 step %c32 {
      %r = scf.for %k = %c0 to %c24 step %c1 iter_args(%acc = %zero) -> (vector<32x32xf32>) {
        memref.prefetch %w[%next, %k, %c0, %c0, %c0], read, locality<2>, data : memref<24x24x16x32x2xbf16>
        %at = arith.muli %k, %c16 : index
        %0 = vector.transfer_read %x[%m, %at, %c0], %p {in_bounds = [true, true, true]} : memref<64x384x2xbf16>, vector<32x16x2xbf16>
        %1 = vector.transfer_read %w[%b, %k, %c0, %c0, %c0], %p {in_bounds = [true, true, true]} : memref<24x24x16x32x2xbf16>, vector<16x32x2xbf16>
        %2 = vector.contract {indexing_maps = [#rows, #columns, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %0, %1, %acc : vector<32x16x2xbf16>, vector<16x32x2xbf16> into vector<32x32xf32>
        scf.yield %2 : vector<32x32xf32>
      }
      vector.transfer_write %r, %out[%m, %column] {in_bounds = [true, true]} : vector<32x32xf32>, memref<64x768xf32>
    }
  }
  return
}

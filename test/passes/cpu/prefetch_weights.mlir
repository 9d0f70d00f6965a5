// RUN: legato-opt %s --tir-prefetch-weights --split-input-file | filecheck %s
// The reduction of a product fetches the lines of a large weight 16 steps ahead: here two of 64 bytes in each step.

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

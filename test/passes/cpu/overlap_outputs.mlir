// RUN: legato-opt %s --tir-lower-matrix-products=target=llvm{cpu=sapphirerapids} --tir-overlap-outputs --canonicalize --split-input-file | filecheck %s
// While a tile is multiplied, the rows of the one before are computed: 8 in each of 4 steps. The first tile has none to compute.

// CHECK-LABEL: func.func private @bias(
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c96 step %c32 {
// CHECK: %[[LAST:.*]] = arith.subi %[[ROW]], %c32
// CHECK: %[[BEFORE:.*]] = arith.maxsi %[[LAST]], %c0
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[ROW]], %c0
// CHECK: %[[DONE:.*]] = arith.select %[[FIRST]], %c32, %c0
// CHECK: %{{.*}} = scf.for %{{.*}} = %c0 to %c64 step %c16 iter_args(%[[FROM:.*]] = %[[DONE]]) -> (index) {
// CHECK-COUNT-4: "llvm.x86.tdpbf16ps"
// CHECK: %[[MORE:.*]] = arith.addi %[[FROM]], %c8
// CHECK: %[[END:.*]] = arith.minsi %[[MORE]], %c32
// CHECK: scf.for %[[I:.*]] = %[[FROM]] to %[[END]] step %c1 {
// CHECK: arith.addi %[[BEFORE]], %[[I]]
// CHECK: vector.transfer_read %alloca{{.*}}[%[[I]], %c0]
// CHECK: vector.transfer_write
// CHECK: }
// CHECK: scf.yield %[[END]]
// CHECK: }
// CHECK-NOT: vector.transfer
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK-NOT: vector.transfer
// CHECK: }
// The last tile's rows follow the loop.
// CHECK: scf.for %[[I:.*]] = %c0 to %c32 step %c1 {
// CHECK: arith.addi %[[I]], %c64
// CHECK: vector.transfer_write
// CHECK: }
// CHECK: return
#a = affine_map<(m, n, k, q) -> (m, k, q)>
#b = affine_map<(m, n, k, q) -> (k, n, q)>
#c = affine_map<(m, n, k, q) -> (m, n)>
func.func private @bias(%x: memref<96x64x2xbf16>, %w: memref<4x16x32x2xbf16>, %b: memref<32xf32>, %y: memref<96x32xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %zeros = arith.constant dense<0.0> : vector<32x32xf32>
  %zero = arith.constant 0.0 : bf16
  %none = arith.constant 0.0 : f32
  %sums = memref.alloca() {alignment = 64 : i64} : memref<32x32xf32>
  %bias = vector.transfer_read %b[%c0], %none {in_bounds = [true]} : memref<32xf32>, vector<32xf32>
  scf.for %i = %c0 to %c96 step %c32 {
    %product = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zeros) -> (vector<32x32xf32>) {
      %block = arith.divui %k, %c16 : index
      %a = vector.transfer_read %x[%i, %k, %c0], %zero {in_bounds = [true, true, true]} : memref<96x64x2xbf16>, vector<32x16x2xbf16>
      %p = vector.transfer_read %w[%block, %c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<4x16x32x2xbf16>, vector<16x32x2xbf16>
      %wide = arith.extf %a : vector<32x16x2xbf16> to vector<32x16x2xf32>
      %other = arith.extf %p : vector<16x32x2xbf16> to vector<16x32x2xf32>
      %next = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %wide, %other, %acc : vector<32x16x2xf32>, vector<16x32x2xf32> into vector<32x32xf32>
      scf.yield %next : vector<32x32xf32>
    }
    vector.transfer_write %product, %sums[%c0, %c0] {in_bounds = [true, true]} : vector<32x32xf32>, memref<32x32xf32>
    scf.for %r = %c0 to %c32 step %c1 {
      %row = arith.addi %i, %r : index
      %sum = vector.transfer_read %sums[%r, %c0], %none {in_bounds = [true]} : memref<32x32xf32>, vector<32xf32>
      %result = arith.addf %sum, %bias : vector<32xf32>
      vector.transfer_write %result, %y[%row, %c0] {in_bounds = [true]} : vector<32xf32>, memref<96x32xf32>
    }
  }
  return
}

// -----

// What the rows write is read by the next tile's product: they stay in front of it.
// CHECK-LABEL: func.func private @recurrence(
// CHECK: scf.for
// CHECK-COUNT-4: "llvm.x86.tdpbf16ps"
// CHECK-NEXT: }
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1 {
// CHECK: vector.transfer_write
// CHECK: }
// CHECK-NEXT: }
#a = affine_map<(m, n, k, q) -> (m, k, q)>
#b = affine_map<(m, n, k, q) -> (k, n, q)>
#c = affine_map<(m, n, k, q) -> (m, n)>
func.func private @recurrence(%w: memref<4x16x32x2xbf16>, %y: memref<128x16x2xbf16> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  %zeros = arith.constant dense<0.0> : vector<32x32xf32>
  %zero = arith.constant 0.0 : bf16
  %none = arith.constant 0.0 : f32
  %sums = memref.alloca() {alignment = 64 : i64} : memref<32x32xf32>
  %rows = memref.collapse_shape %y [[0], [1, 2]] : memref<128x16x2xbf16> into memref<128x32xbf16>
  scf.for %i = %c0 to %c96 step %c32 {
    %product = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zeros) -> (vector<32x32xf32>) {
      %a = vector.transfer_read %y[%i, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<128x16x2xbf16>, vector<32x16x2xbf16>
      %p = vector.transfer_read %w[%k, %c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<4x16x32x2xbf16>, vector<16x32x2xbf16>
      %wide = arith.extf %a : vector<32x16x2xbf16> to vector<32x16x2xf32>
      %other = arith.extf %p : vector<16x32x2xbf16> to vector<16x32x2xf32>
      %next = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %wide, %other, %acc : vector<32x16x2xf32>, vector<16x32x2xf32> into vector<32x32xf32>
      scf.yield %next : vector<32x32xf32>
    }
    vector.transfer_write %product, %sums[%c0, %c0] {in_bounds = [true, true]} : vector<32x32xf32>, memref<32x32xf32>
    scf.for %r = %c0 to %c32 step %c1 {
      %row = arith.addi %i, %r : index
      %after = arith.addi %row, %c32 : index
      %sum = vector.transfer_read %sums[%r, %c0], %none {in_bounds = [true]} : memref<32x32xf32>, vector<32xf32>
      %result = arith.truncf %sum : vector<32xf32> to vector<32xbf16>
      vector.transfer_write %result, %rows[%after, %c0] {in_bounds = [true]} : vector<32xbf16>, memref<128x32xbf16>
    }
  }
  return
}

// RUN: legato-opt %s --tir-flatten-transposes | filecheck %s

// Channels last: 16 positions of three elements are one row of 48.
// CHECK-LABEL: func.func private @interleave
// CHECK: %[[T:.*]] = vector.transpose %{{.*}}, [1, 0] : vector<3x16xf32> to vector<16x3xf32>
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %arg1 {{\[\[}}0, 1]] : memref<64x3xf32> into memref<192xf32>
// CHECK: %[[AT:.*]] = affine.apply #{{.*}}(%arg2, %c0)
// CHECK: %[[ROW:.*]] = vector.shape_cast %[[T]] : vector<16x3xf32> to vector<48xf32>
// CHECK: vector.transfer_write %[[ROW]], %[[FLAT]][%[[AT]]] {in_bounds = [true]} : vector<48xf32>, memref<192xf32>
// CHECK-NOT: vector.transfer_write
func.func private @interleave(%x: memref<3x64xf32>, %y: memref<64x3xf32> {tir.out}, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f32
  %a = vector.transfer_read %x[%c0, %i], %p {in_bounds = [true, true]} : memref<3x64xf32>, vector<3x16xf32>
  %t = vector.transpose %a, [1, 0] : vector<3x16xf32> to vector<16x3xf32>
  vector.transfer_write %t, %y[%i, %c0] {in_bounds = [true, true]} : vector<16x3xf32>, memref<64x3xf32>
  return
}

// Read, in a part of a larger buffer whose first row only the call knows.
// CHECK-LABEL: func.func private @planes
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %arg0 {{\[\[}}0], [1, 2]] : memref<2x?x4xf16, strided<[?, 4, 1], offset: ?>> into memref<2x?xf16, strided<[?, 1], offset: ?>>
// CHECK: %[[ROW:.*]] = vector.transfer_read %[[FLAT]][%arg2, %{{.*}}], %{{.*}} {in_bounds = [true]} : memref<2x?xf16, strided<[?, 1], offset: ?>>, vector<64xf16>
// CHECK: %[[ROWS:.*]] = vector.shape_cast %[[ROW]] : vector<64xf16> to vector<16x4xf16>
// CHECK: vector.transpose %[[ROWS]], [1, 0]
func.func private @planes(%x: memref<2x?x4xf16, strided<[?, 4, 1], offset: ?>>, %y: memref<4x64xf16> {tir.out}, %n: index, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %p = ub.poison : f16
  %a = vector.transfer_read %x[%n, %i, %c0], %p {in_bounds = [true, true]} : memref<2x?x4xf16, strided<[?, 4, 1], offset: ?>>, vector<16x4xf16>
  %t = vector.transpose %a, [1, 0] : vector<16x4xf16> to vector<4x16xf16>
  vector.transfer_write %t, %y[%c0, %i] {in_bounds = [true, true]} : vector<4x16xf16>, memref<4x64xf16>
  return
}

// Rows of a buffer that has more columns, rows that fill a vector, rows that may end before the vector does, and what no transpose makes.
// CHECK-LABEL: func.func private @others
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func private @others(%x: memref<3x64xf32>, %y: memref<64x5xf32> {tir.out}, %z: memref<64x16xf32> {tir.out}, %u: memref<64x3xf32> {tir.out}, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %p = arith.constant 0.0 : f32
  %a = vector.transfer_read %x[%c0, %i], %p {in_bounds = [true, true]} : memref<3x64xf32>, vector<3x16xf32>
  %t = vector.transpose %a, [1, 0] : vector<3x16xf32> to vector<16x3xf32>
  vector.transfer_write %t, %y[%i, %c0] {in_bounds = [true, true]} : vector<16x3xf32>, memref<64x5xf32>
  vector.transfer_write %t, %u[%i, %c0] {in_bounds = [false, true]} : vector<16x3xf32>, memref<64x3xf32>
  %b = vector.transfer_read %z[%i, %c0], %p {in_bounds = [true, true]} : memref<64x16xf32>, vector<16x16xf32>
  %v = vector.transpose %b, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
  vector.transfer_write %v, %z[%i, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<64x16xf32>
  %w = vector.transfer_read %u[%i, %c0], %p {in_bounds = [true, true]} : memref<64x3xf32>, vector<16x3xf32>
  %s = arith.addf %w, %w : vector<16x3xf32>
  vector.transfer_write %s, %u[%i, %c0] {in_bounds = [true, true]} : vector<16x3xf32>, memref<64x3xf32>
  return
}

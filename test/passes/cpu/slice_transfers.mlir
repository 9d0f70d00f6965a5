// RUN: legato-opt %s --tir-slice-transfers | filecheck %s

// A vector along the first dimension of a matrix is read from, and written to, a slice of that dimension alone.
// CHECK-LABEL: func.func @column(
// CHECK: %[[COLUMN:.*]] = memref.subview %{{.*}}[%{{.*}}, %{{.*}}] [4, 1] [1, 1]
// CHECK-SAME: to memref<4xf32, strided<[8], offset: ?>>
// CHECK: %[[V:.*]] = vector.transfer_read %[[COLUMN]]
// CHECK: memref.subview
// CHECK: vector.transfer_write %[[V]]
func.func @column(%x: memref<4x8xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%c0, %i], %zero {in_bounds = [true], permutation_map = affine_map<(i, j) -> (i)>} : memref<4x8xf32>, vector<4xf32>
  vector.transfer_write %0, %x[%c0, %i] {in_bounds = [true], permutation_map = affine_map<(i, j) -> (i)>} : vector<4xf32>, memref<4x8xf32>
  return
}

// Vectors along the last dimensions, and those that repeat an element, stay.
// CHECK-LABEL: func.func @row(
// CHECK-NOT: memref.subview
// CHECK: return
func.func @row(%x: memref<4x8xf32>, %i: index) -> (vector<8xf32>, vector<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true]} : memref<4x8xf32>, vector<8xf32>
  %1 = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (0, j)>} : memref<4x8xf32>, vector<4x8xf32>
  return %0, %1 : vector<8xf32>, vector<4x8xf32>
}

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

// Several rows are those of one slice, where they all lie in the buffer; otherwise the transfer stays.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[ROWS:.*]] = memref.subview %arg0[%{{.*}}, %arg2, %{{.*}}] [1, 4, 8] [1, 1, 1]
// CHECK-SAME: to memref<4x8xf32, strided<[16, 1], offset: ?>>
// CHECK: vector.transfer_read %[[ROWS]][%{{.*}}, %{{.*}}]
// CHECK-NOT: memref.subview
// CHECK: vector.transfer_read %arg1[%arg2, %{{.*}}]
// CHECK: vector.transfer_read %arg1[%arg2, %{{.*}}], %{{.*}}, %{{.*}}
func.func @rows(%x: memref<2x9x16xf32>, %y: memref<?x8xf32>, %i: index, %m: vector<4x8xi1>)
    -> (vector<4x8xf32>, vector<4x8xf32>, vector<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%c0, %i, %c0], %zero {in_bounds = [true, true]} : memref<2x9x16xf32>, vector<4x8xf32>
  %1 = vector.transfer_read %y[%i, %c0], %zero {in_bounds = [false, true]} : memref<?x8xf32>, vector<4x8xf32>
  %2 = vector.transfer_read %y[%i, %c0], %zero, %m {in_bounds = [true, true]} : memref<?x8xf32>, vector<4x8xf32>
  return %0, %1, %2 : vector<4x8xf32>, vector<4x8xf32>, vector<4x8xf32>
}

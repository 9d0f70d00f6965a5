// RUN: legato-opt %s --split-input-file --tir-keep-partial-writes | filecheck %s
// RUN: legato-opt %s --split-input-file --tir-keep-partial-writes --one-shot-bufferize | filecheck %s --check-prefix=BUFFER

// A row of four, and a corner that the sizes of another axis pass for the whole: an index that is no constant. Bufferization copies the rest.
// CHECK-LABEL: func.func @row
// CHECK: %[[ZERO:.*]] = arith.addi %c0, %c0
// CHECK: vector.transfer_write %{{.*}}, %{{.*}}[%[[ZERO]], %c0]
// BUFFER-LABEL: func.func @row
// BUFFER: memref.copy
// BUFFER: vector.transfer_write
func.func @row(%v: vector<8xf32>, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %0 = vector.transfer_write %v, %x[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<4x8xf32>
  return %0, %x : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @transposed
// CHECK: arith.addi %c0, %c0
func.func @transposed(%v: vector<8x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %0 = vector.transfer_write %v, %x[%c0, %c0] {permutation_map = affine_map<(d0, d1) -> (d1, d0)>, in_bounds = [false, true]}
    : vector<8x4xf32>, tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Writes of all of the tensor, and those that upstream knows to be partial, stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.addi
// BUFFER-LABEL: func.func @others
func.func @others(%v: vector<8xf32>, %x: tensor<1x8xf32>, %y: tensor<9xf32>, %z: tensor<?x8xf32>, %i: index)
    -> (tensor<1x8xf32>, tensor<9xf32>, tensor<?x8xf32>, tensor<1x8xf32>) {
  %c0 = arith.constant 0 : index
  %0 = vector.transfer_write %v, %x[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<1x8xf32>
  %1 = vector.transfer_write %v, %y[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<9xf32>
  %2 = vector.transfer_write %v, %z[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<?x8xf32>
  %3 = vector.transfer_write %v, %x[%i, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<1x8xf32>
  return %0, %1, %2, %3 : tensor<1x8xf32>, tensor<9xf32>, tensor<?x8xf32>, tensor<1x8xf32>
}

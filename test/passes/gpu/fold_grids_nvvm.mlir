// RUN: legato-opt %s --tir-fold-grids=target=nvvm --canonicalize | filecheck %s

// Blocks on y and z of a number that is unknown, or above 65535, are slower parts of the axis x; an axis of few blocks stays.
// CHECK-LABEL: func.func @batches(
// CHECK-SAME: %[[X:.*]]: memref<?x?x?xf32>, %[[N:.*]]: index)
// CHECK: %[[TOTAL:.*]] = arith.muli %[[N]], %c10
// CHECK: gpu.launch blocks(%[[BX:.*]], %[[BY:.*]], %{{.*}}) in (%{{.*}} = %[[TOTAL]], %{{.*}} = %c7{{.*}}, %{{.*}} = %c1
// CHECK: %[[ROW:.*]] = arith.remui %[[BX]], %c10
// CHECK: %[[BATCH:.*]] = arith.divui %[[BX]], %c10
// CHECK: memref.store %{{.*}}, %[[X]][%[[BATCH]], %[[BY]], %[[ROW]]]
func.func @batches(%x: memref<?x?x?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %rows = arith.constant 10 : index
  %few = arith.constant 7 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %rows, %gy = %few, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %zero, %x[%bz, %by, %bx] : memref<?x?x?xf32>
    gpu.terminator
  }
  return
}

// CHECK-LABEL: func.func @columns(
// CHECK: gpu.launch blocks(%[[BX:.*]], %{{.*}}, %[[BZ:.*]]) in (%{{.*}} = %c210000{{.*}}, %{{.*}} = %c1{{.*}}, %{{.*}} = %c200
// CHECK: %[[ROW:.*]] = arith.remui %[[BX]], %c3
// CHECK: %[[COLUMN:.*]] = arith.divui %[[BX]], %c3
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[BZ]], %[[COLUMN]], %[[ROW]]]
func.func @columns(%x: memref<?x?x?xf32>) {
  %c1 = arith.constant 1 : index
  %rows = arith.constant 3 : index
  %columns = arith.constant 70000 : index
  %batch = arith.constant 200 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %rows, %gy = %columns, %gz = %batch) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %zero, %x[%bz, %by, %bx] : memref<?x?x?xf32>
    gpu.terminator
  }
  return
}

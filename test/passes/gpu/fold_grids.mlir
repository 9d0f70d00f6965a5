// RUN: legato-opt %s --tir-fold-grids=target=vulkan --canonicalize | filecheck %s

// The number of blocks is known at run time only: 65535 in a row at most.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[N:.*]]: index)
// CHECK-DAG: %[[COLUMNS:.*]] = arith.minui %[[N]], %c65535
// CHECK-DAG: %[[ROWS:.*]] = arith.ceildivui %[[N]],
// CHECK: gpu.launch blocks(%[[BX:.*]], %[[BY:.*]], %{{.*}}) in (%{{.*}} = %[[COLUMNS]], %{{.*}} = %[[ROWS]],
// CHECK: %[[ROW:.*]] = arith.muli %[[BY]], %[[COLUMNS]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[ROW]], %[[BX]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[PLACE]], %[[N]]
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: memref.load %[[X]][%[[PLACE]]]
func.func @unknown(%x: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %v = memref.load %x[%bx] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%bx] : memref<?xf32>
    gpu.terminator
  }
  return
}

// Few blocks, and blocks on two axes, stay.
// CHECK-LABEL: func.func @known(
// CHECK-NOT: scf.if
func.func @known(%x: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %few = arith.constant 100 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %few, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %v = memref.load %x[%bx] : memref<?xf32>
    memref.store %v, %x[%bx] : memref<?xf32>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %few, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %v = memref.load %x[%by] : memref<?xf32>
    memref.store %v, %x[%bx] : memref<?xf32>
    gpu.terminator
  }
  return
}

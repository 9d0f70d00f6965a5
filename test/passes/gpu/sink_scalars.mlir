// A mean's 1 / n is computed by the threads; n itself stays an argument, and so does an index.
// RUN: legato-opt %s --tir-sink-scalars --canonicalize | filecheck %s

// CHECK-LABEL: func.func @mean
// CHECK: gpu.launch
// CHECK: arith.index_cast %arg1 : index to i64
// CHECK: arith.sitofp
// CHECK: arith.divf
// CHECK: arith.mulf
func.func @mean(%x: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %wide = arith.index_cast %n : index to i64
  %count = arith.sitofp %wide : i64 to f32
  %factor = arith.divf %one, %count : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %v = memref.load %x[%bx] : memref<?xf32>
    %w = arith.mulf %v, %factor : f32
    memref.store %w, %x[%bx] : memref<?xf32>
    gpu.terminator
  }
  return
}

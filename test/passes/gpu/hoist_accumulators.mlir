// RUN: legato-opt %s --tir-hoist-accumulators | filecheck %s

// The sum of a nest of two loops stays in a register: one load before and one store after it.
// CHECK-LABEL: func.func private @sum
// CHECK: %[[BEFORE:.*]] = memref.load %arg1[%{{.*}}]
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[ROW:.*]] = %[[BEFORE]])
// CHECK: %[[INNER:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ROW]])
// CHECK: %[[NEXT:.*]] = memref.load %arg0
// CHECK: %[[SUM:.*]] = arith.addf %[[ACC]], %[[NEXT]]
// CHECK: scf.yield %[[SUM]]
// CHECK: scf.yield %[[INNER]]
// CHECK: memref.store %[[ALL]], %arg1
// CHECK-NOT: memref.store
// CHECK: return
func.func private @sum(%x: memref<8x8xf32>, %y: memref<4xf32> {tir.out}, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c8 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %0 = memref.load %y[%i] : memref<4xf32>
      %1 = memref.load %x[%j, %k] : memref<8x8xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %y[%i] : memref<4xf32>
    }
  }
  return
}

// A step that reads another element of the buffer, too, needs it in memory; so does a condition, and a part of it that is read by a view.
// CHECK-LABEL: func.func private @stays
// CHECK-NOT: iter_args
func.func private @stays(%y: memref<4xf32> {tir.out}, %c: i1, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %j = %c0 to %c4 step %c1 {
    %0 = memref.load %y[%i] : memref<4xf32>
    %1 = memref.load %y[%j] : memref<4xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %y[%i] : memref<4xf32>
  }
  scf.for %j = %c0 to %c4 step %c1 {
    scf.if %c {
      %0 = memref.load %y[%i] : memref<4xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %y[%i] : memref<4xf32>
    }
  }
  %v = memref.cast %y : memref<4xf32> to memref<?xf32>
  scf.for %j = %c0 to %c4 step %c1 {
    %0 = memref.load %y[%i] : memref<4xf32>
    %1 = memref.load %v[%i] : memref<?xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %y[%i] : memref<4xf32>
  }
  return
}

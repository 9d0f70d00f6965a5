// RUN: legato-opt %s --tir-hoist-accumulators | filecheck %s
// RUN: legato-opt %s --tir-hoist-accumulators=vectors=true | filecheck %s --check-prefix=VECTORS

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

// A step that reads another element of the buffer, too, needs it in memory; so does a part of it that is read by a view.
// CHECK-LABEL: func.func private @stays
// CHECK-NOT: iter_args
func.func private @stays(%y: memref<4xf32> {tir.out}, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %j = %c0 to %c4 step %c1 {
    %0 = memref.load %y[%i] : memref<4xf32>
    %1 = memref.load %y[%j] : memref<4xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %y[%i] : memref<4xf32>
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

// Of a vector whose lanes a mask leaves out, the lanes that nobody asks for are carried, too. The mask is made in front of the loop.
// CHECK-LABEL: func.func private @masked
// CHECK: %[[MASK:.*]] = vector.create_mask %arg2
// CHECK: %[[BEFORE:.*]] = vector.transfer_read %arg1[%{{.*}}], %{{.*}}, %[[MASK]]
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[BEFORE]])
// CHECK: %[[NEXT:.*]] = vector.transfer_read %arg0
// CHECK: %[[MOST:.*]] = arith.maximumf %[[NEXT]], %[[ACC]]
// CHECK: scf.yield %[[MOST]]
// CHECK: vector.transfer_write %[[ALL]], %arg1[%{{.*}}], %[[MASK]]
// VECTORS-LABEL: func.func private @sum
// VECTORS-NOT: iter_args
// VECTORS-LABEL: func.func private @masked
// VECTORS: scf.for {{.*}} iter_args
func.func private @masked(%x: memref<8x?xf32>, %y: memref<?xf32> {tir.out}, %n: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %any = ub.poison : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %mask = vector.create_mask %n : vector<16xi1>
    %0 = vector.transfer_read %x[%i, %c0], %any, %mask {in_bounds = [true]} : memref<8x?xf32>, vector<16xf32>
    %1 = vector.transfer_read %y[%c0], %any, %mask {in_bounds = [true]} : memref<?xf32>, vector<16xf32>
    %2 = arith.maximumf %0, %1 : vector<16xf32>
    vector.transfer_write %2, %y[%c0], %mask {in_bounds = [true]} : vector<16xf32>, memref<?xf32>
  }
  return
}

// Lanes that have to be zero stay so in memory only; another mask is another place; one of the loop's own size is made in it.
// CHECK-LABEL: func.func private @other_lanes
// CHECK-NOT: iter_args
func.func private @other_lanes(%x: memref<8x?xf32>, %y: memref<?xf32> {tir.out}, %n: index, %m: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %any = ub.poison : f32
  %mask = vector.create_mask %n : vector<16xi1>
  %other = vector.create_mask %m : vector<16xi1>
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = vector.transfer_read %y[%c0], %zero, %mask {in_bounds = [true]} : memref<?xf32>, vector<16xf32>
    %1 = vector.reduction <add>, %0 : vector<16xf32> into f32
    %2 = vector.broadcast %1 : f32 to vector<16xf32>
    vector.transfer_write %2, %y[%c0], %mask {in_bounds = [true]} : vector<16xf32>, memref<?xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = vector.transfer_read %y[%c0], %any, %mask {in_bounds = [true]} : memref<?xf32>, vector<16xf32>
    %1 = arith.addf %0, %0 : vector<16xf32>
    vector.transfer_write %1, %y[%c0], %other {in_bounds = [true]} : vector<16xf32>, memref<?xf32>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %own = vector.create_mask %i : vector<16xi1>
    %0 = vector.transfer_read %y[%c0], %any, %own {in_bounds = [true]} : memref<?xf32>, vector<16xf32>
    %1 = arith.addf %0, %0 : vector<16xf32>
    vector.transfer_write %1, %y[%c0], %own {in_bounds = [true]} : vector<16xf32>, memref<?xf32>
  }
  return
}

// A condition that no step changes goes around the loops.
// CHECK-LABEL: func.func private @guarded
// CHECK: scf.if %arg2 {
// CHECK-NEXT: %[[BEFORE:.*]] = memref.load %arg1[%arg3]
// CHECK-NEXT: %[[ALL:.*]] = scf.for {{.*}} iter_args({{.*}} = %[[BEFORE]])
// CHECK-NEXT: scf.for
// CHECK-NOT: scf.if
// CHECK: memref.store %[[ALL]], %arg1[%arg3]
// CHECK-NOT: memref.store
// CHECK: return
func.func private @guarded(%x: memref<8x8xf32>, %y: memref<4xf32> {tir.out}, %has: i1, %i: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c8 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %at = arith.addi %k, %c1 : index
      scf.if %has {
        %0 = memref.load %y[%i] : memref<4xf32>
        %1 = memref.load %x[%j, %at] : memref<8x8xf32>
        %2 = arith.addf %0, %1 : f32
        memref.store %2, %y[%i] : memref<4xf32>
      }
    }
  }
  return
}

// One that steps change, and one beside which steps do something else, stay.
// CHECK-LABEL: func.func private @guarded_otherwise
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NEXT: scf.if
func.func private @guarded_otherwise(%x: memref<8xf32>, %y: memref<4xf32> {tir.out}, %has: memref<8xi1>, %i: index)
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %some = memref.load %has[%i] : memref<8xi1>
  scf.for %j = %c0 to %c8 step %c1 {
    %this = memref.load %has[%j] : memref<8xi1>
    scf.if %this {
      %0 = memref.load %y[%i] : memref<4xf32>
      %1 = memref.load %x[%j] : memref<8xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %y[%i] : memref<4xf32>
    }
  }
  scf.for %j = %c0 to %c8 step %c1 {
    memref.store %some, %has[%j] : memref<8xi1>
    scf.if %some {
      %0 = memref.load %y[%i] : memref<4xf32>
      %1 = memref.load %x[%j] : memref<8xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %y[%i] : memref<4xf32>
    }
  }
  return
}

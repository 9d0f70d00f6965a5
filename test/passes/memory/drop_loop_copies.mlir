// RUN: legato-opt %s --tir-drop-loop-copies | filecheck %s

func.func private @grow(memref<?xf32>, memref<?xf32> {tir.out})

// The body gets what the loop carries, without a copy after the condition, and the loop the buffer that the body fills.
// CHECK-LABEL: func.func @carried
// CHECK: scf.while (%[[B:.*]] = %arg0)
// CHECK-NOT: memref.alloc
// CHECK: scf.condition(%{{.*}}) %[[B]] :
// CHECK: ^bb0(%[[A:.*]]: memref<?xf32>):
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK-NOT: memref.alloc
// CHECK: func.call @grow(%[[A]], %[[NEW]])
// CHECK-NOT: memref.copy
// CHECK: scf.yield %[[NEW]]
func.func @carried(%x: memref<?xf32>, %most: index) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.while (%b = %x) : (memref<?xf32>) -> memref<?xf32> {
    %n = memref.dim %b, %c0 : memref<?xf32>
    %goes = arith.cmpi slt, %n, %most : index
    %own = memref.alloc(%n) : memref<?xf32>
    memref.copy %b, %own : memref<?xf32> to memref<?xf32>
    scf.condition(%goes) %own : memref<?xf32>
  } do {
  ^bb0(%a: memref<?xf32>):
    %n = memref.dim %a, %c0 : memref<?xf32>
    %m = arith.addi %n, %c1 : index
    %new = memref.alloc(%m) : memref<?xf32>
    func.call @grow(%a, %new) : (memref<?xf32>, memref<?xf32>) -> ()
    %copy = memref.alloc(%m) : memref<?xf32>
    memref.copy %new, %copy : memref<?xf32> to memref<?xf32>
    scf.yield %copy : memref<?xf32>
  }
  return %0 : memref<?xf32>
}

// Two states of one buffer: the second is a copy. So is a buffer from outside of the loop, and one that is written after the copy.
// CHECK-LABEL: func.func @copied
// CHECK: scf.for
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: memref.copy %[[NEW]], %[[COPY]]
// CHECK: memref.copy %arg1, %[[OTHER:.*]] :
// CHECK: %[[LATE:.*]] = memref.alloc
// CHECK: memref.copy %[[LATE]], %[[KEPT:.*]] :
// CHECK: scf.yield %[[NEW]], %[[COPY]], %[[OTHER]], %[[KEPT]]
func.func @copied(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:4 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x, %d = %x)
      -> (memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?xf32>) {
    %new = memref.alloc(%i) : memref<?xf32>
    func.call @grow(%a, %new) : (memref<?xf32>, memref<?xf32>) -> ()
    %one = memref.alloc(%i) : memref<?xf32>
    memref.copy %new, %one : memref<?xf32> to memref<?xf32>
    %two = memref.alloc(%i) : memref<?xf32>
    memref.copy %new, %two : memref<?xf32> to memref<?xf32>
    %other = memref.alloc(%i) : memref<?xf32>
    memref.copy %y, %other : memref<?xf32> to memref<?xf32>
    %late = memref.alloc(%i) : memref<?xf32>
    %kept = memref.alloc(%i) : memref<?xf32>
    memref.copy %late, %kept : memref<?xf32> to memref<?xf32>
    func.call @grow(%a, %late) : (memref<?xf32>, memref<?xf32>) -> ()
    scf.yield %one, %two, %other, %kept : memref<?xf32>, memref<?xf32>, memref<?xf32>, memref<?xf32>
  }
  return
}

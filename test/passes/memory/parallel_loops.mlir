// RUN: legato-opt %s --tir-parallel-loops | filecheck %s

func.func private @step(%x: memref<8xf32>, %y: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return
}

// Each loop is a step of one parallel loop; what stands between them is in front of it.
// CHECK-LABEL: func.func @apart
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %arg0, %[[B]]
// CHECK: scf.forall (%[[I:.*]]) in (2) {
// CHECK-NEXT: scf.index_switch %[[I]]
// CHECK-NEXT: case 0 {
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @step(%arg0, %[[A]])
// CHECK: default {
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @step(%arg0, %[[B]])
// CHECK-NOT: tir.side_by_side
func.func @apart(%x: memref<8xf32>, %n: index) -> (memref<8xf32>, memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  %b = memref.alloc() : memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  return %a, %b : memref<8xf32>, memref<8xf32>
}

// One loop writes what the other one reads, by way of a view.
// CHECK-LABEL: func.func @dependent
// CHECK-NOT: scf.forall
func.func @dependent(%x: memref<8xf32>, %n: index) -> (memref<8xf32>, memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %view = memref.reinterpret_cast %a to offset: [0], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%view, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  return %a, %b : memref<8xf32>, memref<8xf32>
}

// What stands between them reads the first one's result.
// CHECK-LABEL: func.func @between
// CHECK-NOT: scf.forall
func.func @between(%x: memref<8xf32>, %n: index) -> (memref<8xf32>, memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  return %a, %b : memref<8xf32>, memref<8xf32>
}

// Another group, and a loop without a mark.
// CHECK-LABEL: func.func @groups
// CHECK-NOT: scf.forall
func.func @groups(%x: memref<8xf32>, %n: index) -> (memref<8xf32>, memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 1 : i64}
  return %a, %b : memref<8xf32>, memref<8xf32>
}

// Of three loops of a group the last one reads what the second one writes: the first two run side by side.
// CHECK-LABEL: func.func @some
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.forall
func.func @some(%x: memref<8xf32>, %n: index) -> (memref<8xf32>, memref<8xf32>, memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  scf.for %i = %c0 to %n step %c1 {
    func.call @step(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  } {tir.side_by_side = 0 : i64}
  return %a, %b, %c : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

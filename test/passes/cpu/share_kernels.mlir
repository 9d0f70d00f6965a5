// RUN: legato-opt %s --tir-share-kernels | filecheck %s

// Two kernels that differ in a scale and a zero point are one, with both as arguments; what they have in common stays a constant. In each
// parallel loop the number becomes a vector again.
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[S0:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG: %[[Z0:.*]] = arith.constant 3 : i32
// CHECK: call @first(%arg0, %arg1, %[[Z0]], %[[S0]]) {relax.ops = ["a"]}
// CHECK-DAG: %[[S1:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-DAG: %[[Z1:.*]] = arith.constant -7 : i32
// CHECK: call @first(%arg1, %arg0, %[[Z1]], %[[S1]]) {relax.ops = ["b"]}
// CHECK: call @divided_by_3(
// CHECK: call @divided_by_5(
// CHECK: call @first_4(
func.func @main(%x: memref<8x16xi32>, %y: memref<8x16xi32>) {
  call @first(%x, %y) {relax.ops = ["a"]} : (memref<8x16xi32>, memref<8x16xi32>) -> ()
  call @second(%y, %x) {relax.ops = ["b"]} : (memref<8x16xi32>, memref<8x16xi32>) -> ()
  call @divided_by_3(%x) : (memref<8x16xi32>) -> ()
  call @divided_by_5(%x) : (memref<8x16xi32>) -> ()
  call @first_4(%x, %y) : (memref<8x16xi32>, memref<8x16xi32>) -> ()
  return
}

// CHECK-LABEL: func.func private @first(
// CHECK-SAME: %[[ZERO:[a-z0-9]+]]: i32, %[[SCALE:[a-z0-9]+]]: f32)
// CHECK: arith.constant dense<1.000000e+00> : vector<16xf32>
// CHECK: scf.forall
// CHECK-DAG: %[[SCALES:.*]] = vector.broadcast %[[SCALE]] : f32 to vector<16xf32>
// CHECK-DAG: %[[ZEROS:.*]] = vector.broadcast %[[ZERO]] : i32 to vector<16xi32>
// CHECK: arith.addi %{{.*}}, %[[ZEROS]]
// CHECK: arith.mulf %{{.*}}, %[[SCALES]]
func.func private @first(%x: memref<8x16xi32>, %y: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %padding = arith.constant 0 : i32
  %zero = arith.constant dense<3> : vector<16xi32>
  %scale = arith.constant dense<0.25> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  scf.forall (%i) in (8) {
    %0 = vector.transfer_read %x[%i, %c0], %padding {in_bounds = [true]} : memref<8x16xi32>, vector<16xi32>
    %1 = arith.addi %0, %zero : vector<16xi32>
    %2 = arith.sitofp %1 : vector<16xi32> to vector<16xf32>
    %3 = arith.mulf %2, %scale : vector<16xf32>
    %4 = arith.addf %3, %one : vector<16xf32>
    %5 = arith.fptosi %4 : vector<16xf32> to vector<16xi32>
    vector.transfer_write %5, %y[%i, %c0] {in_bounds = [true]} : vector<16xi32>, memref<8x16xi32>
  }
  return
}

// CHECK-NOT: @second
func.func private @second(%x: memref<8x16xi32>, %y: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %padding = arith.constant 0 : i32
  %zero = arith.constant dense<-7> : vector<16xi32>
  %scale = arith.constant dense<0.125> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  scf.forall (%i) in (8) {
    %0 = vector.transfer_read %x[%i, %c0], %padding {in_bounds = [true]} : memref<8x16xi32>, vector<16xi32>
    %1 = arith.addi %0, %zero : vector<16xi32>
    %2 = arith.sitofp %1 : vector<16xi32> to vector<16xf32>
    %3 = arith.mulf %2, %scale : vector<16xf32>
    %4 = arith.addf %3, %one : vector<16xf32>
    %5 = arith.fptosi %4 : vector<16xf32> to vector<16xi32>
    vector.transfer_write %5, %y[%i, %c0] {in_bounds = [true]} : vector<16xi32>, memref<8x16xi32>
  }
  return
}

// A division by a constant is faster than one by a number that only the call knows.
// CHECK-LABEL: func.func private @divided_by_3(
// CHECK: arith.constant 3 : i32
// CHECK-LABEL: func.func private @divided_by_5(
// CHECK: arith.constant 5 : i32
func.func private @divided_by_3(%x: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %by = arith.constant 3 : i32
  %0 = memref.load %x[%c0, %c0] : memref<8x16xi32>
  %1 = arith.divsi %0, %by : i32
  memref.store %1, %x[%c0, %c0] : memref<8x16xi32>
  return
}
func.func private @divided_by_5(%x: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %by = arith.constant 5 : i32
  %0 = memref.load %x[%c0, %c0] : memref<8x16xi32>
  %1 = arith.divsi %0, %by : i32
  memref.store %1, %x[%c0, %c0] : memref<8x16xi32>
  return
}

// One with another size stays, too.
// CHECK-LABEL: func.func private @first_4(
func.func private @first_4(%x: memref<8x16xi32>, %y: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %padding = arith.constant 0 : i32
  %zero = arith.constant dense<3> : vector<16xi32>
  %scale = arith.constant dense<0.25> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  scf.forall (%i) in (4) {
    %0 = vector.transfer_read %x[%i, %c0], %padding {in_bounds = [true]} : memref<8x16xi32>, vector<16xi32>
    %1 = arith.addi %0, %zero : vector<16xi32>
    %2 = arith.sitofp %1 : vector<16xi32> to vector<16xf32>
    %3 = arith.mulf %2, %scale : vector<16xf32>
    %4 = arith.addf %3, %one : vector<16xf32>
    %5 = arith.fptosi %4 : vector<16xf32> to vector<16xi32>
    vector.transfer_write %5, %y[%i, %c0] {in_bounds = [true]} : vector<16xi32>, memref<8x16xi32>
  }
  return
}

// Sizes are compared also where constants have other attributes.
// CHECK-LABEL: func.func @places(
// CHECK: call @at_2(
// CHECK: call @at_3(
func.func @places(%x: memref<8xf32>) {
  call @at_2(%x) : (memref<8xf32>) -> ()
  call @at_3(%x) : (memref<8xf32>) -> ()
  return
}
func.func private @at_2(%x: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  %value = arith.constant {marked} 1.0 : f32
  %at = arith.constant 2 : index
  memref.store %value, %x[%at] : memref<8xf32>
  return
}
func.func private @at_3(%x: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  %value = arith.constant {marked} 1.0 : f32
  %at = arith.constant 3 : index
  memref.store %value, %x[%at] : memref<8xf32>
  return
}

// Tables of bytes are arguments, too. What rules were told of a kernel's arguments is dropped.
// CHECK-LABEL: func.func @tables(
// CHECK: %[[FIRST:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi8>
// CHECK: call @table_1(%arg0, %[[FIRST]])
// CHECK: %[[SECOND:.*]] = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]> : vector<16xi8>
// CHECK: call @table_1(%arg0, %[[SECOND]])
func.func @tables(%x: memref<16xi8>) {
  call @table_1(%x) : (memref<16xi8>) -> ()
  call @table_2(%x) : (memref<16xi8>) -> ()
  return
}
// CHECK: func.func private @table_1(%arg0: memref<16xi8> {tir.out}, %arg1: vector<16xi8>)
// CHECK-NOT: @table_2
func.func private @table_1(%x: memref<16xi8> {tir.magnitude = 1.0, tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %table = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi8>
  %0 = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %1 = llvm.call_intrinsic "llvm.x86.ssse3.pshuf.b.128"(%table, %0) : (vector<16xi8>, vector<16xi8>) -> vector<16xi8>
  vector.store %1, %x[%c0] : memref<16xi8>, vector<16xi8>
  return
}
func.func private @table_2(%x: memref<16xi8> {tir.magnitude = 2.0, tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %table = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]> : vector<16xi8>
  %0 = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %1 = llvm.call_intrinsic "llvm.x86.ssse3.pshuf.b.128"(%table, %0) : (vector<16xi8>, vector<16xi8>) -> vector<16xi8>
  vector.store %1, %x[%c0] : memref<16xi8>, vector<16xi8>
  return
}

// Two kernels of which one has the same number twice, in another order: an argument for each use that differs. What is multiplied by
// stays a constant.
// CHECK-LABEL: func.func @sums(
// CHECK: call @sum_1(%arg0, %{{.*}}, %{{.*}}) : (memref<16xi8>, i8, i8) -> ()
// CHECK: call @sum_1(%arg0, %{{.*}}, %{{.*}}) : (memref<16xi8>, i8, i8) -> ()
// CHECK: call @sum_3(%arg0)
func.func @sums(%x: memref<16xi8>) {
  call @sum_1(%x) : (memref<16xi8>) -> ()
  call @sum_2(%x) : (memref<16xi8>) -> ()
  call @sum_3(%x) : (memref<16xi8>) -> ()
  return
}
// CHECK-LABEL: func.func private @sum_1(
// CHECK-SAME: %[[TAKEN:[a-z0-9]+]]: i8, %[[TERM:[a-z0-9]+]]: i8)
// CHECK-DAG: %[[BOUND:.*]] = vector.broadcast %[[TAKEN]] : i8 to vector<16xi8>
// CHECK-DAG: %[[ADDED:.*]] = vector.broadcast %[[TERM]] : i8 to vector<16xi8>
// CHECK: arith.subi %{{.*}}, %[[BOUND]]
// CHECK: arith.addi %{{.*}}, %[[ADDED]]
func.func private @sum_1(%x: memref<16xi8> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %same = arith.constant dense<5> : vector<16xi8>
  %by = arith.constant dense<3> : vector<16xi8>
  %0 = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %1 = arith.subi %0, %same : vector<16xi8>
  %2 = arith.addi %1, %same : vector<16xi8>
  %3 = arith.muli %2, %by : vector<16xi8>
  vector.store %3, %x[%c0] : memref<16xi8>, vector<16xi8>
  return
}
// CHECK-NOT: @sum_2
func.func private @sum_2(%x: memref<16xi8> {tir.out}) attributes {tir.prim_func} {
  %term = arith.constant dense<7> : vector<16xi8>
  %taken = arith.constant dense<-1> : vector<16xi8>
  %c0 = arith.constant 0 : index
  %by = arith.constant dense<3> : vector<16xi8>
  %0 = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %1 = arith.subi %0, %taken : vector<16xi8>
  %2 = arith.addi %1, %term : vector<16xi8>
  %3 = arith.muli %2, %by : vector<16xi8>
  vector.store %3, %x[%c0] : memref<16xi8>, vector<16xi8>
  return
}
// CHECK-LABEL: func.func private @sum_3(
func.func private @sum_3(%x: memref<16xi8> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %same = arith.constant dense<5> : vector<16xi8>
  %by = arith.constant dense<9> : vector<16xi8>
  %0 = vector.load %x[%c0] : memref<16xi8>, vector<16xi8>
  %1 = arith.subi %0, %same : vector<16xi8>
  %2 = arith.addi %1, %same : vector<16xi8>
  %3 = arith.muli %2, %by : vector<16xi8>
  vector.store %3, %x[%c0] : memref<16xi8>, vector<16xi8>
  return
}

// Outside of parallel loops a vector of the number comes before all branches that use it.
// CHECK-LABEL: func.func private @branches(
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: f32)
// CHECK-NEXT: %[[STEPS:.*]] = vector.broadcast %[[STEP]] : f32 to vector<16xf32>
// CHECK: scf.if
// CHECK: arith.mulf %{{.*}}, %[[STEPS]]
// CHECK: } else {
// CHECK: arith.mulf %{{.*}}, %[[STEPS]]
func.func @branching(%x: memref<16xf32>, %flag: i1) {
  call @branches(%x, %flag) : (memref<16xf32>, i1) -> ()
  call @other_branches(%x, %flag) : (memref<16xf32>, i1) -> ()
  return
}
func.func private @branches(%x: memref<16xf32>, %flag: i1) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  scf.if %flag {
    %step = arith.constant dense<0.25> : vector<16xf32>
    %1 = arith.mulf %0, %step : vector<16xf32>
    vector.store %1, %x[%c0] : memref<16xf32>, vector<16xf32>
  } else {
    %step = arith.constant dense<0.25> : vector<16xf32>
    %1 = arith.mulf %0, %step : vector<16xf32>
    %2 = arith.addf %1, %0 : vector<16xf32>
    vector.store %2, %x[%c0] : memref<16xf32>, vector<16xf32>
  }
  return
}
func.func private @other_branches(%x: memref<16xf32>, %flag: i1) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  scf.if %flag {
    %step = arith.constant dense<0.5> : vector<16xf32>
    %1 = arith.mulf %0, %step : vector<16xf32>
    vector.store %1, %x[%c0] : memref<16xf32>, vector<16xf32>
  } else {
    %step = arith.constant dense<0.5> : vector<16xf32>
    %1 = arith.mulf %0, %step : vector<16xf32>
    %2 = arith.addf %1, %0 : vector<16xf32>
    vector.store %2, %x[%c0] : memref<16xf32>, vector<16xf32>
  }
  return
}

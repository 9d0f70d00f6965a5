// RUN: legato-opt %s --tir-keep-vector-loops | filecheck %s
// RUN: legato-opt %s --tir-keep-vector-loops --convert-scf-to-cf --convert-vector-to-llvm --convert-to-llvm | filecheck %s --check-prefix=LLVM

// CHECK: #[[KEEP:.*]] = #llvm.loop_annotation<unroll = #{{.*}}>

// A loop of vectors and the one around it are kept, and so are copies; scalars are left to LLVM, which gets the mark on the branches back.
// CHECK-LABEL: func.func @vectors(
// CHECK-COUNT-2: } {loop_annotation = #[[KEEP]]}
// LLVM-LABEL: llvm.func @vectors(
// LLVM-COUNT-2: llvm.br ^{{.*}} {loop_annotation =
func.func @vectors(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c8 {
    scf.for %j = %c0 to %c64 step %c8 {
      %0 = vector.load %x[%j] : memref<64xf32>, vector<8xf32>
      vector.store %0, %x[%i] : memref<64xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @copies(
// CHECK: } {loop_annotation = #[[KEEP]]}
func.func @copies(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  }
  return
}

// CHECK-LABEL: func.func @scalars(
// CHECK-NOT: loop_annotation
// LLVM-LABEL: llvm.func @scalars(
// LLVM-NOT: loop_annotation
func.func @scalars(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%i] : memref<8xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%i] : memref<8xf32>
  }
  return
}

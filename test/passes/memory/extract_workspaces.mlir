// RUN: legato-opt %s --tir-extract-workspaces | filecheck %s
// RUN: legato-opt %s --tir-extract-workspaces=stack-bytes=0 | filecheck %s --check-prefix=NONE

// Small buffers go on the stack, larger ones become arguments that the caller allocates.
// CHECK-LABEL: func.func private @kernel(%arg0: memref<4xf32> {tir.out}, %arg1: memref<65536xf32>)
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// NONE-LABEL: func.func private @kernel(
// NONE-SAME: memref<8xf32>
// NONE-NOT: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK-LABEL: func.func @main(
// CHECK: %[[W:.*]] = memref.alloc() {alignment = 64 : i64} : memref<65536xf32>
// CHECK: call @kernel(%arg0, %[[W]])
func.func private @kernel(%out: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %small = memref.alloc() : memref<8xf32>
  %large = memref.alloc() : memref<65536xf32>
  linalg.fill ins(%zero : f32) outs(%small : memref<8xf32>)
  linalg.fill ins(%zero : f32) outs(%large : memref<65536xf32>)
  return
}
func.func @main(%out: memref<4xf32>) {
  call @kernel(%out) : (memref<4xf32>) -> ()
  return
}

// A buffer of a loop whose size the caller can compute is one for all steps.
// CHECK-LABEL: func.func private @rows(%arg0: memref<3xf32> {tir.out}, %arg1: index, %arg2: memref<?xf32>)
// CHECK-NOT: memref.alloc
// CHECK-LABEL: func.func @calls_rows(
// CHECK: %[[SIZE:.*]] = arith.addi %arg1
// CHECK: %[[W:.*]] = memref.alloc(%[[SIZE]]) {alignment = 64 : i64} : memref<?xf32>
// CHECK: call @rows(%arg0, %arg1, %[[W]])
func.func private @rows(%out: memref<3xf32> {tir.out}, %k: index) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    %size = arith.addi %k, %c1 : index
    %heap = memref.alloc(%size) : memref<?xf32>
    linalg.fill ins(%zero : f32) outs(%heap : memref<?xf32>)
    %value = memref.load %heap[%c0] : memref<?xf32>
    memref.store %value, %out[%i] : memref<3xf32>
  }
  return
}
func.func @calls_rows(%out: memref<3xf32>, %k: index) {
  call @rows(%out, %k) : (memref<3xf32>, index) -> ()
  return
}

// Those that each thread allocates are parts of one buffer for all kernels of a function: a thread's part of it begins at the same place in
// all. Such that a thread needs few bytes of are on its stack.
// CHECK-LABEL: func.func private @on_threads(%arg0: memref<4xf32> {tir.out}, %arg1: memref<155648xi8>)
// CHECK: scf.parallel (%[[THREAD:.*]]) =
// CHECK: memref.alloca() {{.*}} : memref<7xf32>
// CHECK: %[[BEGIN:.*]] = arith.muli %[[THREAD]], %c77824
// CHECK: %[[FIRST:.*]] = arith.addi %[[BEGIN]], %c0
// CHECK: memref.view %arg1[%[[FIRST]]][] : memref<155648xi8> to memref<9001xf32>
// CHECK: %[[BEGIN:.*]] = arith.muli %[[THREAD]], %c77824
// CHECK: %[[SECOND:.*]] = arith.addi %[[BEGIN]], %c36032
// CHECK: memref.view %arg1[%[[SECOND]]][] : memref<155648xi8> to memref<10000xf32>
// CHECK-LABEL: func.func private @on_more_threads(%arg0: memref<4xf32> {tir.out}, %arg1: memref<155648xi8>)
// CHECK: scf.parallel (%[[THREAD:.*]]) =
// CHECK: %[[BEGIN:.*]] = arith.muli %[[THREAD]], %c77824
// CHECK-LABEL: func.func @calls_on_threads(
// CHECK: %[[ALL:.*]] = memref.alloc() {alignment = 64 : i64} : memref<155648xi8>
// CHECK: call @on_threads(%arg0, %[[ALL]])
// CHECK: scf.if
// CHECK: call @on_more_threads(%arg0, %[[ALL]])
// CHECK: call @on_threads(%arg0, %[[ALL]])
func.func private @on_threads(%out: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.parallel (%thread) = (%c0) to (%c2) step (%c1) {
    %small = memref.alloc() : memref<7xf32>
    %first = memref.alloc() : memref<9001xf32>
    %second = memref.alloc() : memref<10000xf32>
    linalg.fill ins(%zero : f32) outs(%small : memref<7xf32>)
    linalg.fill ins(%zero : f32) outs(%first : memref<9001xf32>)
    linalg.fill ins(%zero : f32) outs(%second : memref<10000xf32>)
    scf.reduce
  } {tir.threads}
  return
}
func.func private @on_more_threads(%out: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.parallel (%thread) = (%c0) to (%c2) step (%c1) {
    %only = memref.alloc() : memref<10000xf32>
    linalg.fill ins(%zero : f32) outs(%only : memref<10000xf32>)
    scf.reduce
  } {tir.threads}
  return
}
func.func @calls_on_threads(%out: memref<4xf32>, %condition: i1) {
  call @on_threads(%out) : (memref<4xf32>) -> ()
  scf.if %condition {
    func.call @on_more_threads(%out) : (memref<4xf32>) -> ()
  }
  call @on_threads(%out) : (memref<4xf32>) -> ()
  return
}

// The size of a workspace may be that of another.
// CHECK-LABEL: func.func private @repeated(%arg0: memref<?x3xf32> {tir.out}, %arg1: memref<?x3xf32>, %arg2: memref<?x3xf32>)
// CHECK-LABEL: func.func @calls_repeated(
// CHECK: %[[FIRST:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?x3xf32>
// CHECK: %[[SIZE:.*]] = memref.dim %[[FIRST]]
// CHECK: %[[SECOND:.*]] = memref.alloc(%[[SIZE]]) {alignment = 64 : i64} : memref<?x3xf32>
// CHECK: call @repeated(%arg0, %[[FIRST]], %[[SECOND]])
func.func private @repeated(%out: memref<?x3xf32> {tir.out}) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = memref.dim %out, %c0 : memref<?x3xf32>
  %first = memref.alloc(%rows) : memref<?x3xf32>
  %same = memref.dim %first, %c0 : memref<?x3xf32>
  %second = memref.alloc(%same) : memref<?x3xf32>
  linalg.fill ins(%zero : f32) outs(%first : memref<?x3xf32>)
  linalg.fill ins(%zero : f32) outs(%second : memref<?x3xf32>)
  return
}
func.func @calls_repeated(%out: memref<?x3xf32>) {
  call @repeated(%out) : (memref<?x3xf32>) -> ()
  return
}

// RUN: legato-opt %s --tir-share-copies="target=llvm{cpu=x86-64-v3 threads=2}" | filecheck %s
// RUN: legato-opt %s --tir-share-copies="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=ALONE

// Rows of a large slice in parts for two threads: 61 rows are 6 times 10, and one that is left.
// ALONE-NOT: scf.forall
// CHECK-LABEL: func.func private @rows(
// CHECK: scf.forall (%[[I:.*]]) in (6) {
// CHECK: %[[AT:.*]] = arith.muli %[[I]], %c10
// CHECK: %[[FROM:.*]] = memref.subview %arg0[%[[AT]], 0] [10, 2000] [1, 1]
// CHECK: %[[TO:.*]] = memref.subview %arg1[%{{.*}}, 0] [10, 2000] [1, 1]
// CHECK: memref.copy %[[FROM]], %[[TO]]
// CHECK: }
// CHECK: memref.subview %arg0[%c60{{.*}}, 0] [1, 2000] [1, 1]
// CHECK: memref.copy
// CHECK-NOT: memref.copy
// CHECK: return
func.func private @rows(%x: memref<61x2000xf32, strided<[4000, 1], offset: 8>>, %y: memref<61x2000xf32>) attributes {tir.prim_func} {
  memref.copy %x, %y : memref<61x2000xf32, strided<[4000, 1], offset: 8>> to memref<61x2000xf32>
  return
}

// The first dimension that is long enough.
// CHECK-LABEL: func.func private @inner(
// CHECK: scf.forall
// CHECK: memref.subview %arg0[0, %{{.*}}, 0] [1, 8, 4096] [1, 1, 1]
memref.global "private" constant @table : memref<4xf32> = dense<1.0>
func.func private @inner(%x: memref<1x64x4096xf32>, %y: memref<1x64x4096xf32>) attributes {tir.prim_func} {
  %table = memref.get_global @table : memref<4xf32>
  memref.copy %x, %y : memref<1x64x4096xf32> to memref<1x64x4096xf32>
  return
}

// Beside a serial loop, which may write to the same lines of memory, one thread copies.
// CHECK-LABEL: func.func private @border(
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @border(%x: memref<64x4096xf32>, %y: memref<64x4104xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %inside = memref.subview %y[0, 4] [64, 4096] [1, 1] : memref<64x4104xf32> to memref<64x4096xf32, strided<[4104, 1], offset: 4>>
  memref.copy %x, %inside : memref<64x4096xf32> to memref<64x4096xf32, strided<[4104, 1], offset: 4>>
  scf.for %i = %c0 to %c64 step %c1 {
    %0 = memref.load %x[%i, %c0] : memref<64x4096xf32>
    memref.store %0, %y[%i, %c0] : memref<64x4104xf32>
  }
  return
}

// A small copy and one of a size that only the call knows are not shared.
// CHECK-LABEL: func.func private @alone(
// CHECK-NOT: scf.forall
// CHECK: return
func.func private @alone(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %v: memref<?x4096xf32>, %w: memref<?x4096xf32>)
    attributes {tir.prim_func} {
  memref.copy %x, %y : memref<64x64xf32> to memref<64x64xf32>
  memref.copy %v, %w : memref<?x4096xf32> to memref<?x4096xf32>
  return
}

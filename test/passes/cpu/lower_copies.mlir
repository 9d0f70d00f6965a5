// RUN: legato-opt %s --tir-lower-copies=target=llvm{cpu=x86-64-v3} | filecheck %s
// RUN: legato-opt %s --tir-lower-copies=target=llvm{cpu=x86-64-v2} | filecheck %s --check-prefix=V2

// Rows of a strided buffer are copied one by one: each is one memcpy.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK: memref.copy %{{.*}}, %{{.*}} : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1], offset: ?>>
func.func @rows(%x: memref<4x16xf32, strided<[32, 1], offset: 8>>, %y: memref<4x16xf32>) {
  memref.copy %x, %y : memref<4x16xf32, strided<[32, 1], offset: 8>> to memref<4x16xf32>
  return
}

// Rows of a size known at run time only are copied by vectors, their end under a mask where the CPU has masks.
// CHECK-LABEL: func.func @dynamic(
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: vector.store
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
// V2-LABEL: func.func @dynamic(
// V2: vector.load {{.*}} vector<4xf32>
// V2-NOT: mask
// V2: memref.store
func.func @dynamic(%x: memref<4x?xf32, strided<[?, 1], offset: ?>>, %y: memref<4x?xf32>) {
  memref.copy %x, %y : memref<4x?xf32, strided<[?, 1], offset: ?>> to memref<4x?xf32>
  return
}

// What is one piece already stays: it is one memcpy.
// CHECK-LABEL: func.func @whole(
// CHECK-NEXT: memref.copy
func.func @whole(%x: memref<4x16xf32>, %y: memref<4x16xf32>) {
  memref.copy %x, %y : memref<4x16xf32> to memref<4x16xf32>
  return
}

// Single elements are copied one by one.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: linalg.copy
func.func @transposed(%x: memref<4x16xf32, strided<[1, 4]>>, %y: memref<4x16xf32>) {
  memref.copy %x, %y : memref<4x16xf32, strided<[1, 4]>> to memref<4x16xf32>
  return
}

// A piece of one element keeps the rank of its buffer: of two unit dimensions the verifier could not tell which one is dropped.
// CHECK-LABEL: func.func @column(
// CHECK: memref.copy %{{.*}}, %{{.*}} : memref<1x1xf32, strided<[1, 1], offset: ?>> to memref<1x1xf32, strided<[?, 1], offset: ?>>
func.func @column(%x: memref<8x1xf32>, %y: memref<8x1xf32, strided<[?, 1], offset: ?>>) {
  memref.copy %x, %y : memref<8x1xf32> to memref<8x1xf32, strided<[?, 1], offset: ?>>
  return
}

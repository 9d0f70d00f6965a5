// RUN: legato-opt %s --tir-lower-copies=target=llvm{cpu=x86-64-v3} | filecheck %s
// RUN: legato-opt %s --tir-lower-copies=target=llvm{cpu=x86-64-v2} | filecheck %s --check-prefix=V2
// RUN: legato-opt %s --tir-lower-copies=target=llvm{cpu=x86-64-v4} | filecheck %s --check-prefix=V4

// Rows of a strided buffer are copied one by one: each is one memcpy.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK: memref.copy %{{.*}}, %{{.*}} : memref<65xf32, strided<[1], offset: ?>> to memref<65xf32, strided<[1], offset: ?>>
func.func @rows(%x: memref<4x65xf32, strided<[80, 1], offset: 8>>, %y: memref<4x65xf32>) {
  memref.copy %x, %y : memref<4x65xf32, strided<[80, 1], offset: 8>> to memref<4x65xf32>
  return
}

// Short ones are vectors, from the first to the last, which begins before the end of the one in front of it.
// CHECK-LABEL: func.func @short_rows(
// CHECK: scf.for
// CHECK: %[[V:.*]] = vector.load %[[FROM:.*]][%{{.*}}] : memref<20xf32, {{.*}}>, vector<8xf32>
// CHECK-NEXT: vector.store %[[V]], %[[TO:.*]][%{{.*}}] : memref<20xf32, {{.*}}>, vector<8xf32>
// CHECK-NEXT: %[[SECOND:.*]] = arith.constant 8 : index
// CHECK-NEXT: vector.load %[[FROM]][%[[SECOND]]]
// CHECK-NEXT: vector.store %{{.*}}, %[[TO]][%[[SECOND]]]
// CHECK-NEXT: %[[LAST:.*]] = arith.constant 12 : index
// CHECK-NEXT: vector.load %[[FROM]][%[[LAST]]]
// CHECK-NEXT: vector.store %{{.*}}, %[[TO]][%[[LAST]]]
// CHECK-NOT: memref.copy
// V2-LABEL: func.func @short_rows(
// V2-COUNT-5: vector.store {{.*}} vector<4xf32>
// V2-NOT: vector.store
func.func @short_rows(%x: memref<4x20xf32, strided<[32, 1], offset: 8>>, %y: memref<4x20xf32>) {
  memref.copy %x, %y : memref<4x20xf32, strided<[32, 1], offset: 8>> to memref<4x20xf32>
  return
}

// Of several dimensions, with a layout of their own or without.
// CHECK-LABEL: func.func @short_whole(
// CHECK-DAG: %[[FROM:.*]] = memref.collapse_shape %arg0 {{\[\[}}0, 1]] : memref<4x16xf32> into memref<64xf32>
// CHECK-DAG: %[[TO:.*]] = memref.collapse_shape %arg1 {{\[\[}}0, 1]] : memref<4x16xf32, strided<[16, 1], offset: ?>> into memref<64xf32, strided<[1], offset: ?>>
// CHECK-COUNT-8: vector.store %{{.*}}, %[[TO]]
// CHECK-NOT: vector.store
func.func @short_whole(%x: memref<4x16xf32>, %y: memref<4x16xf32, strided<[16, 1], offset: ?>>) {
  memref.copy %x, %y : memref<4x16xf32> to memref<4x16xf32, strided<[16, 1], offset: ?>>
  return
}

// Elements of less than a byte are packed otherwise in vectors.
// CHECK-LABEL: func.func @bits(
// CHECK-NEXT: memref.copy
func.func @bits(%x: memref<100xi1>, %y: memref<100xi1>) {
  memref.copy %x, %y : memref<100xi1> to memref<100xi1>
  return
}

// Rows of a size known at run time only are copied by vectors: their end under a mask with AVX-512, else by a vector that ends there, or by
// shorter ones where rows are shorter.
// CHECK-LABEL: func.func @dynamic(
// CHECK: arith.cmpi uge, %[[SIZE:.*]], %c8
// CHECK: %[[LAST:.*]] = arith.subi %[[SIZE]], %c8
// CHECK: scf.for %{{.*}} to %[[LAST]]
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: vector.load %{{.*}}[%{{.*}}, %[[LAST]]] {{.*}} vector<8xf32>
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK-NOT: mask
// CHECK: memref.store
// V2-LABEL: func.func @dynamic(
// V2: vector.load {{.*}} vector<4xf32>
// V2-NOT: mask
// V2: memref.store
// V4-LABEL: func.func @dynamic(
// V4: vector.maskedload {{.*}} vector<16xf32>
// V4: vector.maskedstore
func.func @dynamic(%x: memref<4x?xf32, strided<[?, 1], offset: ?>>, %y: memref<4x?xf32>) {
  memref.copy %x, %y : memref<4x?xf32, strided<[?, 1], offset: ?>> to memref<4x?xf32>
  return
}

// What is one piece already stays: it is one memcpy.
// CHECK-LABEL: func.func @whole(
// CHECK-NEXT: memref.copy
func.func @whole(%x: memref<5x16xf32>, %y: memref<5x16xf32>) {
  memref.copy %x, %y : memref<5x16xf32> to memref<5x16xf32>
  return
}

// Single elements are copied one by one.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: linalg.copy
func.func @transposed(%x: memref<4x16xf32, strided<[1, 4]>>, %y: memref<4x16xf32>) {
  memref.copy %x, %y : memref<4x16xf32, strided<[1, 4]>> to memref<4x16xf32>
  return
}

// Dimensions of size 1 are dropped, whatever their strides.
// CHECK-LABEL: func.func @column(
// CHECK: linalg.copy {{.*}} ins(%{{.*}} : memref<8xf32, strided<[1]>>) outs(%{{.*}} : memref<8xf32, strided<[?], offset: ?>>)
func.func @column(%x: memref<8x1xf32>, %y: memref<8x1xf32, strided<[?, 1], offset: ?>>) {
  memref.copy %x, %y : memref<8x1xf32> to memref<8x1xf32, strided<[?, 1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @one_piece(
// CHECK-NOT: scf.for
// CHECK: %[[TO:.*]] = memref.collapse_shape %{{.*}} {{\[\[}}0, 1]] : memref<8x2xf32, strided<[2, 1], offset: 3>> into memref<16xf32, strided<[1], offset: 3>>
// CHECK-COUNT-2: vector.store %{{.*}}, %[[TO]]
// CHECK-NOT: vector.store
func.func @one_piece(%x: memref<1x8x1x2xf32>, %y: memref<1x8x1x2xf32, strided<[16, 2, 4, 1], offset: 3>>) {
  memref.copy %x, %y : memref<1x8x1x2xf32> to memref<1x8x1x2xf32, strided<[16, 2, 4, 1], offset: 3>>
  return
}

// CHECK-LABEL: func.func @unknown_strides(
// CHECK: scf.for
// CHECK: memref.copy %{{.*}}, %{{.*}} : memref<8xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
func.func @unknown_strides(%x: memref<?x1x1x8xf32>, %y: memref<?x1x1x8xf32, strided<[?, ?, 8, 1], offset: ?>>) {
  memref.copy %x, %y : memref<?x1x1x8xf32> to memref<?x1x1x8xf32, strided<[?, ?, 8, 1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @last_unit(
// CHECK-NOT: vector.load {{.*}}x1xf32
// CHECK: linalg.copy
func.func @last_unit(%x: memref<4x?x1xf32, strided<[?, ?, 7], offset: ?>>, %y: memref<4x?x1xf32>) {
  memref.copy %x, %y : memref<4x?x1xf32, strided<[?, ?, 7], offset: ?>> to memref<4x?x1xf32>
  return
}

// CHECK-LABEL: func.func @one_element(
// CHECK-NEXT: memref.copy
func.func @one_element(%x: memref<1x1xf32, strided<[?, ?], offset: ?>>, %y: memref<1x1xf32>) {
  memref.copy %x, %y : memref<1x1xf32, strided<[?, ?], offset: ?>> to memref<1x1xf32>
  return
}

// What many parts behind one another begin at is hidden from LLVM, whose time for their loops grows faster than the square of their
// number: a sum of all sizes before them.
// CHECK-LABEL: func.func @many(
// CHECK: %[[SUM:.*]] = arith.addi
// CHECK: %[[WORD:.*]] = arith.index_cast %[[SUM]] : index to i64
// CHECK: %[[HIDDEN:.*]] = llvm.inline_asm "", "=r,0" %[[WORD]] : (i64) -> i64
// CHECK: %[[OFFSET:.*]] = arith.index_cast %[[HIDDEN]] : i64 to index
// CHECK: memref.subview %{{.*}}[%[[OFFSET]]]
// CHECK-NOT: inline_asm
// CHECK-LABEL: func.func @not_many(
// CHECK-NOT: inline_asm
func.func @many(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index) {
  %sum = arith.addi %n, %m : index
  %first = memref.subview %y[%n] [%m] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  %part = memref.subview %y[%sum] [%m] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %first : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  return
}

func.func @not_many(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %m: index) {
  %sum = arith.addi %n, %m : index
  %part = memref.subview %y[%sum] [%m] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  memref.copy %x, %part : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  return
}

// Sizes that the type of one buffer says hold for the other: five vectors.
// CHECK-LABEL: func.func @one_says_the_sizes(
// CHECK: memref.cast %{{.*}} : memref<?x?xf32> to memref<1x40xf32>
// CHECK-COUNT-5: vector.store
// CHECK-NOT: vector.store
// CHECK-NOT: memref.copy
func.func @one_says_the_sizes(%x: memref<1x40xf32>, %y: memref<?x?xf32>) {
  memref.copy %x, %y : memref<1x40xf32> to memref<?x?xf32>
  return
}

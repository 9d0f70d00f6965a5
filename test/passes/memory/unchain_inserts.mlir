// RUN: legato-opt %s --split-input-file --tir-unchain-inserts | filecheck %s

// Sixteen inserts into the output are sixteen writes into slices of its buffer.
// CHECK-LABEL: func.func private @concat
// CHECK: %[[OUT:.*]] = bufferization.to_buffer %arg2 : tensor<32x8xf32> to memref<32x8xf32>
// CHECK: %[[FIRST:.*]] = memref.subview %[[OUT]][0, 0] [2, 8] [1, 1] : memref<32x8xf32> to memref<2x8xf32, strided<[8, 1]>>
// CHECK-NEXT: bufferization.materialize_in_destination %arg0 in restrict writable %[[FIRST]]
// CHECK-COUNT-14: bufferization.materialize_in_destination %arg0
// CHECK: memref.subview %[[OUT]][30, 0] [2, 4] [1, 1] : memref<32x8xf32> to memref<2x4xf32, strided<[8, 1], offset: 240>>
// CHECK-NOT: tensor.insert_slice
// CHECK: %[[R:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK: return %[[R]]
func.func private @concat(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>, %out: tensor<32x8xf32> {tir.out}) -> tensor<32x8xf32> attributes {tir.prim_func} {
  %r0 = tensor.insert_slice %x into %out[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r1 = tensor.insert_slice %x into %r0[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r2 = tensor.insert_slice %x into %r1[4, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r3 = tensor.insert_slice %x into %r2[6, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r4 = tensor.insert_slice %x into %r3[8, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r5 = tensor.insert_slice %x into %r4[10, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r6 = tensor.insert_slice %x into %r5[12, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r7 = tensor.insert_slice %x into %r6[14, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r8 = tensor.insert_slice %x into %r7[16, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r9 = tensor.insert_slice %x into %r8[18, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r10 = tensor.insert_slice %x into %r9[20, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r11 = tensor.insert_slice %x into %r10[22, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r12 = tensor.insert_slice %x into %r11[24, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r13 = tensor.insert_slice %x into %r12[26, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r14 = tensor.insert_slice %x into %r13[28, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r15 = tensor.insert_slice %y into %r14[30, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<32x8xf32>
  return %r15 : tensor<32x8xf32>
}

// -----

// Sizes may be dynamic, and slices of lower rank.
// CHECK-LABEL: func.func private @stack
// CHECK: memref.subview %{{.*}}[%arg1, 3, 0] [%arg1, 1, 8] [1, 1, 1] : memref<?x16x8xf32> to memref<?x8xf32, strided<[128, 1], offset: ?>>
// CHECK-NOT: tensor.insert_slice
func.func private @stack(%x: tensor<?x8xf32>, %n: index, %out: tensor<?x16x8xf32> {tir.out}) -> tensor<?x16x8xf32> attributes {tir.prim_func} {
  %r0 = tensor.insert_slice %x into %out[%n, 0, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r1 = tensor.insert_slice %x into %r0[%n, 1, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r2 = tensor.insert_slice %x into %r1[%n, 2, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r3 = tensor.insert_slice %x into %r2[%n, 3, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r4 = tensor.insert_slice %x into %r3[%n, 4, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r5 = tensor.insert_slice %x into %r4[%n, 5, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r6 = tensor.insert_slice %x into %r5[%n, 6, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r7 = tensor.insert_slice %x into %r6[%n, 7, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r8 = tensor.insert_slice %x into %r7[%n, 8, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r9 = tensor.insert_slice %x into %r8[%n, 9, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r10 = tensor.insert_slice %x into %r9[%n, 10, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r11 = tensor.insert_slice %x into %r10[%n, 11, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r12 = tensor.insert_slice %x into %r11[%n, 12, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r13 = tensor.insert_slice %x into %r12[%n, 13, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r14 = tensor.insert_slice %x into %r13[%n, 14, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  %r15 = tensor.insert_slice %x into %r14[%n, 15, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x16x8xf32>
  return %r15 : tensor<?x16x8xf32>
}

// -----

// An offset of 0 along a dimension of unknown stride leaves the offset of the slice known.
// CHECK-LABEL: func.func private @columns
// CHECK: memref.subview %{{.*}}[0, 0, 0] [%arg1, %arg1, 2] [1, 1, 1] : memref<?x?x32xf32> to memref<?x?x2xf32, strided<[?, 32, 1]>>
// CHECK: memref.subview %{{.*}}[0, 0, 30] [%arg1, %arg1, 2] [1, 1, 1] : memref<?x?x32xf32> to memref<?x?x2xf32, strided<[?, 32, 1], offset: 30>>
// CHECK-NOT: tensor.insert_slice
func.func private @columns(%x: tensor<?x?x2xf32>, %n: index, %out: tensor<?x?x32xf32> {tir.out}) -> tensor<?x?x32xf32> attributes {tir.prim_func} {
  %r0 = tensor.insert_slice %x into %out[0, 0, 0] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r1 = tensor.insert_slice %x into %r0[0, 0, 2] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r2 = tensor.insert_slice %x into %r1[0, 0, 4] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r3 = tensor.insert_slice %x into %r2[0, 0, 6] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r4 = tensor.insert_slice %x into %r3[0, 0, 8] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r5 = tensor.insert_slice %x into %r4[0, 0, 10] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r6 = tensor.insert_slice %x into %r5[0, 0, 12] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r7 = tensor.insert_slice %x into %r6[0, 0, 14] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r8 = tensor.insert_slice %x into %r7[0, 0, 16] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r9 = tensor.insert_slice %x into %r8[0, 0, 18] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r10 = tensor.insert_slice %x into %r9[0, 0, 20] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r11 = tensor.insert_slice %x into %r10[0, 0, 22] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r12 = tensor.insert_slice %x into %r11[0, 0, 24] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r13 = tensor.insert_slice %x into %r12[0, 0, 26] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r14 = tensor.insert_slice %x into %r13[0, 0, 28] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  %r15 = tensor.insert_slice %x into %r14[0, 0, 30] [%n, %n, 2] [1, 1, 1] : tensor<?x?x2xf32> into tensor<?x?x32xf32>
  return %r15 : tensor<?x?x32xf32>
}

// -----

// A short chain is left to bufferization.
// CHECK-LABEL: func.func private @short
// CHECK-COUNT-2: tensor.insert_slice
func.func private @short(%x: tensor<2x8xf32>, %out: tensor<4x8xf32> {tir.out}) -> tensor<4x8xf32> attributes {tir.prim_func} {
  %r0 = tensor.insert_slice %x into %out[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<4x8xf32>
  %r1 = tensor.insert_slice %x into %r0[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<4x8xf32>
  return %r1 : tensor<4x8xf32>
}

// -----

// A chain of which a link is read by another op stays: the buffer would be overwritten by then.
// CHECK-LABEL: func.func private @read_between
// CHECK-NOT: bufferization.to_buffer
// CHECK-COUNT-16: tensor.insert_slice
func.func private @read_between(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>, %other: tensor<32x8xf32> {tir.out}, %out: tensor<32x8xf32> {tir.out})
    -> (tensor<32x8xf32>, tensor<32x8xf32>) attributes {tir.prim_func} {
  %r0 = tensor.insert_slice %x into %out[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r1 = tensor.insert_slice %x into %r0[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r2 = tensor.insert_slice %x into %r1[4, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r3 = tensor.insert_slice %x into %r2[6, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r4 = tensor.insert_slice %x into %r3[8, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r5 = tensor.insert_slice %x into %r4[10, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r6 = tensor.insert_slice %x into %r5[12, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r7 = tensor.insert_slice %x into %r6[14, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r8 = tensor.insert_slice %x into %r7[16, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r9 = tensor.insert_slice %x into %r8[18, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r10 = tensor.insert_slice %x into %r9[20, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r11 = tensor.insert_slice %x into %r10[22, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r12 = tensor.insert_slice %x into %r11[24, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r13 = tensor.insert_slice %x into %r12[26, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r14 = tensor.insert_slice %x into %r13[28, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r15 = tensor.insert_slice %y into %r14[30, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<32x8xf32>
  return %r7, %r15 : tensor<32x8xf32>, tensor<32x8xf32>
}

// -----

// One whose output is read by another op, too, stays: what it held would be overwritten by then.
// CHECK-LABEL: func.func private @output_read
// CHECK-NOT: bufferization.to_buffer
// CHECK-COUNT-16: tensor.insert_slice
func.func private @output_read(%x: tensor<2x8xf32>, %other: tensor<32x8xf32> {tir.out}, %out: tensor<32x8xf32> {tir.out})
    -> (tensor<32x8xf32>, tensor<32x8xf32>) attributes {tir.prim_func} {
  %r0 = tensor.insert_slice %x into %out[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r1 = tensor.insert_slice %x into %r0[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r2 = tensor.insert_slice %x into %r1[4, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r3 = tensor.insert_slice %x into %r2[6, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r4 = tensor.insert_slice %x into %r3[8, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r5 = tensor.insert_slice %x into %r4[10, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r6 = tensor.insert_slice %x into %r5[12, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r7 = tensor.insert_slice %x into %r6[14, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r8 = tensor.insert_slice %x into %r7[16, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r9 = tensor.insert_slice %x into %r8[18, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r10 = tensor.insert_slice %x into %r9[20, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r11 = tensor.insert_slice %x into %r10[22, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r12 = tensor.insert_slice %x into %r11[24, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r13 = tensor.insert_slice %x into %r12[26, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r14 = tensor.insert_slice %x into %r13[28, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %r15 = tensor.insert_slice %x into %r14[30, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<32x8xf32>
  %sum = linalg.add ins(%out, %out : tensor<32x8xf32>, tensor<32x8xf32>) outs(%other : tensor<32x8xf32>) -> tensor<32x8xf32>
  return %sum, %r15 : tensor<32x8xf32>, tensor<32x8xf32>
}

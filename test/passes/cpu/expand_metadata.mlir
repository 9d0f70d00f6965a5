// RUN: legato-opt %s --tir-expand-metadata | filecheck %s

// A view is arithmetic on the offset of its buffer; no affine map is left.
// CHECK-LABEL: func.func @part
// CHECK-NOT: affine
// CHECK: %[[AT:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: %[[OFFSET:.*]] = arith.addi %[[AT]], %{{.*}} : index
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%[[OFFSET]]]
func.func @part(%x: memref<?x8xf32>, %i: index, %j: index) -> memref<4xf32, strided<[1], offset: ?>> {
  %0 = memref.subview %x[%i, %j] [1, 4] [1, 1] : memref<?x8xf32> to memref<4xf32, strided<[1], offset: ?>>
  return %0 : memref<4xf32, strided<[1], offset: ?>>
}

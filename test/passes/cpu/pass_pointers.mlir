// RUN: legato-opt %s --tir-pass-pointers | filecheck %s

// A kernel takes pointers where the types of its buffers tell shape, strides and offset; a number stays a number.
// CHECK-LABEL: func.func private @static(
// CHECK-SAME: attributes {llvm.bareptr, tir.prim_func}
func.func private @static(%x: memref<4x8xf32>, %n: index, %y: memref<4x8xf32, strided<[16, 1], offset: 4>> {tir.out}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func private @dynamic(
// CHECK-SAME: attributes {tir.prim_func}
func.func private @dynamic(%x: memref<?x8xf32>, %y: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  return
}

// CHECK-LABEL: func.func private @strided(
// CHECK-SAME: attributes {tir.prim_func}
func.func private @strided(%x: memref<8xf32, strided<[?]>>, %y: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  return
}

// What is no kernel is called from outside, with descriptors.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: bareptr
func.func @main(%x: memref<4x8xf32>) {
  return
}

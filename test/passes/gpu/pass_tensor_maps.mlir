// A kernel's last parameters are tensor maps, 128 bytes by value; a multiprocessor has one block; dynamic shared memory is declared only.
// RUN: legato-opt %s --tir-pass-tensor-maps | filecheck %s

// CHECK: llvm.mlir.global external @__dynamic_shmem__0()
// CHECK: llvm.func @product(%arg0: !llvm.ptr, %arg1: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}) attributes
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK: llvm.func @other(%arg0: !llvm.ptr) attributes {nvvm.kernel}
gpu.module @kernels {
  llvm.mlir.global internal @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.func @product(%a: !llvm.ptr, %map: !llvm.ptr) attributes {nvvm.kernel, tir.tensor_maps = 1 : i64} {
    llvm.return
  }
  llvm.func @other(%a: !llvm.ptr) attributes {nvvm.kernel} {
    llvm.return
  }
}

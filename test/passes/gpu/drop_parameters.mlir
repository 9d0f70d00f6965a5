// A kernel keeps the parameters that it reads, and says which they were; one with tensor maps keeps all.
// RUN: legato-opt %s --tir-drop-parameters | filecheck %s

// CHECK: llvm.func @scale(%arg0: !llvm.ptr {llvm.noalias}, %arg1: f32) attributes {gpu.kernel, nvvm.kernel, tir.passed = array<i64: 1, 5>}
// CHECK: llvm.func @product(%arg0: !llvm.ptr, %arg1: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, tir.tensor_maps = 1 : i64}
// CHECK: llvm.func @helper(%arg0: i32)
gpu.module @kernels {
  llvm.func @scale(%a: !llvm.ptr, %b: !llvm.ptr {llvm.noalias}, %o: i64, %s: i64, %t: i64, %f: f32) attributes {gpu.kernel, nvvm.kernel} {
    llvm.store %f, %b : f32, !llvm.ptr
    llvm.return
  }
  llvm.func @product(%a: !llvm.ptr, %map: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, tir.tensor_maps = 1 : i64} {
    llvm.return
  }
  llvm.func @helper(%a: i32) {
    llvm.return
  }
}

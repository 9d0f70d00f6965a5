// RUN: legato-opt %s --tir-device-functions | filecheck %s

// A library's functions, declared and called in a gpu.module, become LLVM's, under their own names. The host's stay.
// CHECK: gpu.module @kernels
// CHECK: llvm.func @__nv_expf(f32) -> f32 attributes {memory_effects = #llvm.memory_effects<{{.*}}argMem = none
// CHECK: llvm.call @__nv_expf(%{{.*}}) : (f32) -> f32
gpu.module @kernels {
  func.func private @__nv_expf(f32) -> f32 attributes {tir.extern = "__nv_expf", llvm.readnone}
  gpu.func @kernel(%x: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = memref.load %x[%c0] : memref<4xf32>
    %1 = func.call @__nv_expf(%0) : (f32) -> f32
    memref.store %1, %x[%c0] : memref<4xf32>
    gpu.return
  }
}
// CHECK: func.func private @__nv_expf(f32) -> f32 attributes {llvm.readnone, tir.extern = "__nv_expf"}
func.func private @__nv_expf(f32) -> f32 attributes {tir.extern = "__nv_expf", llvm.readnone}

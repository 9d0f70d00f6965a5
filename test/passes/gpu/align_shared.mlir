// RUN: legato-opt %s --tir-align-shared | filecheck %s

// CHECK: gpu.func @kernel() workgroup(%{{.*}} : memref<32xf32, 3> {llvm.align = 128 : i64})
gpu.module @kernels {
  gpu.func @kernel() workgroup(%tile : memref<32xf32, 3>) kernel {
    gpu.return
  }
}

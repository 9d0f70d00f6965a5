// RUN: legato-opt %s --tir-name-kernels | filecheck %s

// CHECK: gpu.launch_func @first::@first
// CHECK: gpu.module @first
// CHECK: gpu.func @first() kernel
module attributes {gpu.container_module} {
  func.func @host() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @first::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @first {
    gpu.func @kernel() kernel {
      gpu.return
    }
  }
}

// tir-ask-registers: a kernel with a loop whose loads are to be on their way together gets the registers for it; one of which two blocks
// are to run at a time leaves room for them.
// RUN: legato-opt %s --tir-ask-registers | filecheck %s

// CHECK: gpu.func @marked
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-NOT: tir.loads_together
// CHECK: gpu.func @two
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-NOT: tir.resident_blocks
// CHECK: gpu.func @others
// CHECK-NOT: nvvm.minctasm
gpu.module @kernels {
  gpu.func @marked(%a: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    scf.for %i = %c0 to %n step %c1 {
      memref.store %z, %a[%i] : memref<8xf32>
    } {tir.loads_together = true}
    gpu.return
  }
  gpu.func @two(%a: memref<8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    scf.for %i = %c0 to %n step %c1 {
      memref.store %z, %a[%i] : memref<8xf32>
    } {tir.resident_blocks = 2 : i64}
    gpu.return
  }
  gpu.func @others(%a: memref<8xf32>, %n: index) kernel {
    gpu.return
  }
}

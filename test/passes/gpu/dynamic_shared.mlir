// Buffers for which 48 KB do not suffice are parts of dynamic shared memory, which begins at a multiple of 16 bytes: what wants more is moved.
// RUN: legato-opt %s --split-input-file '--tir-dynamic-shared=target=nvvm{chip=sm_90a}' | filecheck %s
// RUN: not legato-opt %s --split-input-file --tir-dynamic-shared 2>&1 | filecheck %s --check-prefix=OLD

// OLD: the shared buffers of a block take 65536 bytes, and there are 49152

// CHECK-LABEL: func.func @main
// CHECK:         [[SIZE:%.+]] = arith.constant 65536 : i32
// CHECK:         gpu.launch_func @kernels::@large
// CHECK-SAME:      dynamic_shared_memory_size [[SIZE]]
// CHECK-LABEL: gpu.func @large
// CHECK-NOT:     workgroup(
// CHECK:         [[MEMORY:%.+]] = gpu.dynamic_shared_memory
// CHECK:         [[FIRST:%.+]] = memref.view [[MEMORY]][%c0{{.*}}][] : {{.*}} to memref<128x64xf32
// CHECK:         [[SECOND:%.+]] = memref.view [[MEMORY]][%c32768{{.*}}][] : {{.*}} to memref<64x128xf32
// CHECK:         memref.load [[FIRST]]
// CHECK:         memref.store {{.*}}, [[SECOND]]
module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@large blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  gpu.module @kernels {
    gpu.func @large() workgroup(%a : memref<128x64xf32, #gpu.address_space<workgroup>>, %b : memref<64x128xf32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %0 = memref.load %a[%c0, %c0] : memref<128x64xf32, #gpu.address_space<workgroup>>
      memref.store %0, %b[%c0, %c0] : memref<64x128xf32, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
}

// -----

// CHECK-LABEL: gpu.func @aligned
// CHECK:         [[MEMORY:%.+]] = gpu.dynamic_shared_memory
// CHECK:         [[AT:%.+]] = memref.extract_aligned_pointer_as_index [[MEMORY]]
// CHECK:         [[REST:%.+]] = arith.remui [[AT]], %c1024
// CHECK:         [[BACK:%.+]] = arith.subi %c1024{{.*}}, [[REST]]
// CHECK:         [[BEGIN:%.+]] = arith.remui [[BACK]], %c1024
// CHECK:         [[PLACE:%.+]] = arith.addi [[BEGIN]], %c0
// CHECK:         memref.view [[MEMORY]][[[PLACE]]][] : {{.*}} to memref<256x64xf32
gpu.module @kernels {
  gpu.func @aligned() workgroup(%a : memref<256x64xf32, #gpu.address_space<workgroup>> {llvm.align = 1024 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %a[%c0, %c0] : memref<256x64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @small
// CHECK-SAME:    workgroup(
// CHECK-NOT:     gpu.dynamic_shared_memory
gpu.module @kernels {
  gpu.func @small() workgroup(%a : memref<128x64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %a[%c0, %c0] : memref<128x64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

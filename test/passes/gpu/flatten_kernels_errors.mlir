// What a storage buffer cannot hold, and what is not known before a launch.
// RUN: not legato-opt %s --split-input-file --tir-flatten-kernels 2>&1 | filecheck %s

// CHECK: the kernel takes a value of type f32 from the host; on Vulkan it can take buffers and sizes
module attributes {gpu.container_module} {
  func.func @host(%x: memref<4xf32>, %a: f32) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : f32, %x : memref<4xf32>)
    return
  }
  gpu.module @k {
    gpu.func @k(%a: f32, %x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %c1 = arith.constant 1 : index
      memref.store %a, %x[%c1] : memref<4xf32>
      gpu.return
    }
  }
}

// -----

// CHECK: the number of threads in a block is known only at run time; Vulkan wants it at compile time
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @k(%x: memref<4xf32>) kernel {
      gpu.return
    }
  }
}

// -----

// CHECK: memref.assume_alignment on a buffer of type memref<4xf32> has no form for Vulkan's storage buffers
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @k(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %y = memref.assume_alignment %x, 16 : memref<4xf32>
      gpu.return
    }
  }
}

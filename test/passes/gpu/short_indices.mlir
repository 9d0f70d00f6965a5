// RUN: legato-opt %s --tir-short-indices | filecheck %s

// All bounds are known, and small: numbers of threads and blocks, variables of loops, what is computed of them, places in buffers.
// CHECK: gpu.module @fits attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
gpu.module @fits {
  gpu.func @fits(%x: memref<100x64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 50, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %half = arith.divui %t, %c2 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %first = arith.muli %b, %c2 : index
      %row = arith.addi %first, %i : index
      %v = memref.load %x[%row, %half] : memref<100x64xf32>
      memref.store %v, %x[%row, %t] : memref<100x64xf32>
    }
    gpu.return
  }
}

// Places in the dynamic shared memory of a block are addresses in shared memory.
// CHECK: gpu.module @dynamic attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
gpu.module @dynamic {
  gpu.func @dynamic(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %memory[%c128][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    %v = memref.load %x[%t] : memref<64xf32>
    memref.store %v, %tile[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// The places of 2^31 elements do not fit.
// CHECK: gpu.module @large {
gpu.module @large {
  gpu.func @large(%x: memref<32768x65536xi8>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 50, 1, 1>} {
    gpu.return
  }
}

// Nor do elements that lie far apart.
// CHECK: gpu.module @apart {
gpu.module @apart {
  gpu.func @apart(%x: memref<3x8xf32, strided<[1073741824, 1]>>) kernel {
    gpu.return
  }
}

// Sizes that the host says.
// CHECK: gpu.module @unknown {
gpu.module @unknown {
  gpu.func @unknown(%x: memref<?xf32>) kernel {
    gpu.return
  }
}

// CHECK: gpu.module @number {
gpu.module @number {
  gpu.func @number(%x: memref<8xf32>, %n: index) kernel {
    gpu.return
  }
}

// A grid that the host says.
// CHECK: gpu.module @grid {
gpu.module @grid {
  gpu.func @grid(%x: memref<8xf32>) kernel {
    %b = gpu.block_id x
    gpu.return
  }
}

// Places that are data, as they are and between bounds: 2^32 + 1 is not 1.
// CHECK: gpu.module @data {
gpu.module @data {
  gpu.func @data(%x: memref<8xf32>, %i: memref<8xi64>) kernel {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %n = memref.load %i[%c0] : memref<8xi64>
    %at = arith.index_cast %n : i64 to index
    %within = arith.minsi %at, %c7 : index
    gpu.return
  }
}

// Numbers that grow beyond, and come back.
// CHECK: gpu.module @product {
gpu.module @product {
  gpu.func @product(%x: memref<8xf32>) kernel attributes {known_block_size = array<i32: 1024, 1, 1>} {
    %large = arith.constant 3000000 : index
    %t = gpu.thread_id x
    %wide = arith.muli %t, %large : index
    %back = arith.divui %wide, %large : index
    gpu.return
  }
}

// A quotient of what may be negative, as unsigned.
// CHECK: gpu.module @negative {
gpu.module @negative {
  gpu.func @negative(%x: memref<8xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %before = arith.subi %t, %c2 : index
    %part = arith.divui %before, %c8 : index
    gpu.return
  }
}

// CHECK: gpu.module @vectors {
gpu.module @vectors {
  gpu.func @vectors(%x: memref<8xf32>) kernel {
    %v = arith.constant dense<1> : vector<4xindex>
    gpu.return
  }
}

// Fragments of matrices, and copies that nothing waits for.
// CHECK: gpu.module @matrices attributes {dlti.dl_spec
gpu.module @matrices {
  gpu.func @matrices(%x: memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %m = nvgpu.ldmatrix %x[%c0, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
    gpu.return
  }
}

// A buffer's place that the host says.
// CHECK: gpu.module @part {
gpu.module @part {
  gpu.func @part(%x: memref<8x64xf32, strided<[64, 1], offset: ?>>) kernel {
    gpu.return
  }
}

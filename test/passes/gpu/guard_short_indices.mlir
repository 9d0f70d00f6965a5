// RUN: legato-opt %s --tir-guard-short-indices | filecheck %s

module attributes {gpu.container_module} {

// Rows of an unknown number, a grid that the host computes, a number of steps: the launch with 32 bits is where upper bounds fit.
// CHECK: func.func private @rows
// CHECK-DAG: %[[MOST:.*]] = arith.constant 0x41DFFFBFFFC00000 : f64
// CHECK-DAG: %[[STEPS:.*]] = arith.cmpi sge, %arg2, %{{.*}} : index
// CHECK-DAG: %[[SIZE:.*]] = memref.dim %arg0, %{{.*}} : memref<?x64xf32>
// CHECK-DAG: arith.constant 6.400000e+01 : f64
// CHECK: arith.cmpf ole, %{{.*}}, %{{.*}} : f64
// CHECK: scf.if
// CHECK-NEXT: gpu.launch_func @rows_kernel_short::@rows_kernel_short
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu.launch_func @rows_kernel::@rows_kernel
func.func private @rows(%x: memref<?x64xf32>, %grid: index, %steps: index) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch_func @rows_kernel::@rows_kernel blocks in (%grid, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<?x64xf32>, %steps : index)
  return
}
// CHECK: gpu.module @rows_kernel_short attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
// CHECK-NEXT: gpu.func @rows_kernel_short(
// CHECK: gpu.module @rows_kernel {
gpu.module @rows_kernel {
  gpu.func @rows_kernel(%x: memref<?x64xf32>, %steps: index) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %b = gpu.block_id x
    %t = gpu.thread_id x
    scf.for %i = %c0 to %steps step %c1 {
      %first = arith.muli %b, %steps : index
      %row = arith.addi %first, %i : index
      %v = memref.load %x[%row, %t] : memref<?x64xf32>
      memref.store %v, %x[%i, %t] : memref<?x64xf32>
    }
    gpu.return
  }
}

// A buffer of a known size whose first element's place is not known.
// CHECK: func.func private @part
// CHECK: %{{.*}}, %[[OFFSET:.*]], %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata %arg0
// CHECK: arith.index_cast %[[OFFSET]] : index to i64
// CHECK: scf.if
func.func private @part(%x: memref<8x64xf32, strided<[64, 1], offset: ?>>) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @part_kernel::@part_kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8x64xf32, strided<[64, 1], offset: ?>>)
  return
}
// CHECK: gpu.module @part_kernel_short
// CHECK: gpu.module @part_kernel {
gpu.module @part_kernel {
  gpu.func @part_kernel(%x: memref<8x64xf32, strided<[64, 1], offset: ?>>) kernel attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %x[%i, %c0] : memref<8x64xf32, strided<[64, 1], offset: ?>>
      memref.store %v, %x[%i, %c1] : memref<8x64xf32, strided<[64, 1], offset: ?>>
    }
    gpu.return
  }
}

// A grid that is constant at the only launch: nothing is left to ask for.
// CHECK: func.func private @constant
// CHECK-NOT: scf.if
// CHECK: gpu.module @constant_kernel attributes {dlti.dl_spec
func.func private @constant(%x: memref<8x64xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @constant_kernel::@constant_kernel blocks in (%c8, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8x64xf32>)
  return
}
gpu.module @constant_kernel {
  gpu.func @constant_kernel(%x: memref<8x64xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %b = gpu.block_id x
    scf.for %i = %c1 to %c64 step %c1 {
      %v = memref.load %x[%b, %i] : memref<8x64xf32>
      memref.store %v, %x[%b, %c0] : memref<8x64xf32>
    }
    gpu.return
  }
}

// Places that are data; a quotient of what may be negative; no loop.
// CHECK: func.func private @others
// CHECK-NOT: scf.if
// CHECK: gpu.module @data {
// CHECK: gpu.module @negative {
// CHECK: gpu.module @straight {
func.func private @others(%x: memref<?xf32>, %i: memref<8xi64>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @data::@data blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %i : memref<8xi64>)
  gpu.launch_func @negative::@negative blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %n : index)
  gpu.launch_func @straight::@straight blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return
}
gpu.module @data {
  gpu.func @data(%x: memref<?xf32>, %i: memref<8xi64>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %k = %c0 to %c8 step %c1 {
      %n = memref.load %i[%k] : memref<8xi64>
      %at = arith.index_cast %n : i64 to index
      %v = memref.load %x[%at] : memref<?xf32>
      memref.store %v, %x[%k] : memref<?xf32>
    }
    gpu.return
  }
}
gpu.module @negative {
  gpu.func @negative(%x: memref<?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %k = %c0 to %c8 step %c1 {
      %before = arith.subi %k, %n : index
      %at = arith.divui %before, %c8 : index
      %v = memref.load %x[%at] : memref<?xf32>
      memref.store %v, %x[%k] : memref<?xf32>
    }
    gpu.return
  }
}
gpu.module @straight {
  gpu.func @straight(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %b = gpu.block_id x
    %v = memref.load %x[%b] : memref<?xf32>
    memref.store %v, %x[%b] : memref<?xf32>
    gpu.return
  }
}
}

// Copies of a loop become asynchronous, two steps ahead of what reads them: each step has a buffer of three, and one barrier.
// RUN: legato-opt %s --split-input-file --tir-stage-copies | filecheck %s
// RUN: legato-opt %s --split-input-file '--tir-stage-copies=target=nvvm{chip=sm_75}' | filecheck %s --check-prefix=OLD

// CHECK-LABEL: gpu.func @copies
// CHECK-SAME:    workgroup([[TILE:%.+]] : memref<3x8x8xf16, #gpu.address_space<workgroup>>)
// CHECK-COUNT-2: nvvm.cp.async.commit.group
// CHECK:       scf.for [[STEP:%.+]] =
// CHECK:         [[HERE:%.+]] = arith.remui [[STEP]], %{{.*}} : index
// CHECK:         nvvm.cp.async.wait.group 1
// CHECK-NEXT:    gpu.barrier
// CHECK:         [[AHEAD:%.+]] = arith.addi [[STEP]], %c2{{.*}} : index
// CHECK:         [[SLOT:%.+]] = arith.remui [[AHEAD]], %c3{{.*}} : index
// CHECK:         [[BEGUN:%.+]] = arith.cmpi slt, [[AHEAD]], %arg1 : index
// CHECK:         [[BOTH:%.+]] = arith.andi [[BEGUN]], %{{.*}} : i1
// CHECK:         [[COUNT:%.+]] = arith.select [[BOTH]], %c8{{.*}}, %c0{{.*}} : index
// CHECK:         nvgpu.device_async_copy %arg0[%{{.*}}, %c0{{.*}}], [[TILE]]{{\[}}[[SLOT]], %{{.*}}, %c0{{.*}}], 8, [[COUNT]] {bypassL1}
// CHECK:         nvvm.cp.async.commit.group
// CHECK-NOT:     gpu.barrier
// CHECK:         nvgpu.ldmatrix [[TILE]]{{\[}}[[HERE]], %{{.*}}, %c0{{.*}}]
// OLD-LABEL: gpu.func @copies
// OLD-COUNT-2: gpu.barrier
// OLD-NOT: nvgpu.device_async_copy
gpu.module @kernels {
  gpu.func @copies(%from: memref<?x8xf16>, %steps: index) workgroup(%tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : vector<8xf16>
    %rows = memref.dim %from, %c0 : memref<?x8xf16>
    %thread = gpu.thread_id x
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      %begin = arith.muli %step, %c8 : index
      %row = arith.addi %begin, %thread : index
      %inside = arith.cmpi slt, %row, %rows : index
      %one = scf.if %inside -> (vector<8xf16>) {
        %loaded = vector.load %from[%row, %c0] {alignment = 16 : i64} : memref<?x8xf16>, vector<8xf16>
        scf.yield %loaded : vector<8xf16>
      } else {
        scf.yield %zero : vector<8xf16>
      }
      vector.store %one, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
    } {tir.stages = 3 : i64}
    gpu.return
  }
}

// -----

// An element, 2 bytes, is none that can be copied so: the loop stays.
// CHECK-LABEL: gpu.func @narrow
// CHECK-COUNT-2: gpu.barrier
// CHECK-NOT: nvgpu.device_async_copy
gpu.module @kernels {
  gpu.func @narrow(%from: memref<8xf16>, %steps: index) workgroup(%tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      %one = memref.load %from[%step] : memref<8xf16>
      memref.store %one, %tile[%thread, %c0] : memref<8x8xf16, #gpu.address_space<workgroup>>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
    } {tir.stages = 3 : i64}
    gpu.return
  }
}

// -----

// A loop inside of another one: its first copies wait for the last turn, whose tiles may be read still.
// CHECK-LABEL: gpu.func @in_a_loop
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK: nvgpu.device_async_copy
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK: nvgpu.device_async_copy
gpu.module @kernels {
  gpu.func @in_a_loop(%from: memref<64xf16>, %steps: index) workgroup(%tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    scf.for %turn = %c0 to %steps step %c1 {
      scf.for %step = %c0 to %steps step %c1 {
        gpu.barrier
        %eight = vector.load %from[%c0] {alignment = 16 : i64} : memref<64xf16>, vector<8xf16>
        vector.store %eight, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
        gpu.barrier
        %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
        vector.print %f : vector<1x2xf16>
      } {tir.stages = 2 : i64}
    }
    gpu.return
  }
}

// -----

// Some threads copy, and each writes to a buffer of its own among the copies.
// CHECK-LABEL: gpu.func @guarded
// CHECK:       scf.for
// CHECK:         nvvm.cp.async.wait.group 1
// CHECK-NEXT:    gpu.barrier
// CHECK:         scf.if
// CHECK:           nvgpu.device_async_copy
// CHECK:         nvvm.cp.async.commit.group
// CHECK-NOT:     gpu.barrier
// CHECK:         nvgpu.ldmatrix
gpu.module @kernels {
  gpu.func @guarded(%from: memref<64x8xf16>, %steps: index) workgroup(%tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %thread = gpu.thread_id x
    %own = memref.alloca() : memref<1xf32>
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      %some = arith.cmpi slt, %thread, %c8 : index
      scf.if %some {
        %begin = arith.muli %step, %c8 : index
        %row = arith.addi %begin, %thread : index
        %one = vector.load %from[%row, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
        vector.store %one, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      }
      memref.store %zero, %own[%c0] : memref<1xf32>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
    } {tir.stages = 3 : i64}
    gpu.return
  }
}

// -----

// A thread reads what it has written for itself in front of the copies' barrier: the loop stays.
// CHECK-LABEL: gpu.func @read_early
// CHECK-COUNT-2: gpu.barrier
// CHECK-NOT: nvgpu.device_async_copy
gpu.module @kernels {
  gpu.func @read_early(%from: memref<64x8xf16>, %places: memref<8xindex>, %steps: index) workgroup(%tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %own = memref.alloca() : memref<1xindex>
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      memref.store %step, %own[%c0] : memref<1xindex>
      %row = memref.load %own[%c0] : memref<1xindex>
      %one = vector.load %from[%row, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
      vector.store %one, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
    } {tir.stages = 3 : i64}
    gpu.return
  }
}

// -----

// One stage: the copies of a step do not wait for each other in registers, and both barriers stay.
// CHECK-LABEL: gpu.func @one_stage
// CHECK-SAME:    memref<8x8xf16, #gpu.address_space<workgroup>>
// CHECK:       scf.for
// CHECK-NEXT:    gpu.barrier
// CHECK:         nvgpu.device_async_copy %arg0[%{{.*}}, %c0{{.*}}], %{{.*}}[%{{.*}}, %c0{{.*}}], 8, %c8{{.*}} {bypassL1}
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.wait.group 0
// CHECK-NEXT:    gpu.barrier
gpu.module @kernels {
  gpu.func @one_stage(%from: memref<64x8xf16>, %steps: index) workgroup(%tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      %one = vector.load %from[%step, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
      vector.store %one, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
    } {tir.stages = 1 : i64}
    gpu.return
  }
}

// -----

// What is copied in front of the loop, and read in it, belongs to the first group.
// CHECK-LABEL: gpu.func @early
// CHECK-SAME:    workgroup([[OTHER:%.+]] : memref<8x8xf16, #gpu.address_space<workgroup>>
// CHECK-NOT:   nvvm.cp.async.commit.group
// CHECK:       scf.if
// CHECK:         nvgpu.device_async_copy %arg0[%{{.*}}, %c0{{.*}}], [[OTHER]][%{{.*}}, %c0{{.*}}], 8, %c8{{.*}} {bypassL1}
// CHECK:       nvgpu.device_async_copy
// CHECK:       nvvm.cp.async.commit.group
// CHECK:       scf.for
// CHECK:         nvvm.cp.async.wait.group 0
gpu.module @kernels {
  gpu.func @early(%from: memref<64x8xf16>, %steps: index) workgroup(%other : memref<8x8xf16, #gpu.address_space<workgroup>>, %tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %thread = gpu.thread_id x
    %some = arith.cmpi slt, %thread, %c4 : index
    scf.if %some {
      %row = arith.addi %thread, %c4 : index
      %q = vector.load %from[%row, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
      vector.store %q, %other[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    }
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      %one = vector.load %from[%step, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
      vector.store %one, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      %g = nvgpu.ldmatrix %other[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
      vector.print %g : vector<1x2xf16>
    } {tir.stages = 2 : i64}
    gpu.return
  }
}

// -----

// What is read in front of the loop, too, is stored as before.
// CHECK-LABEL: gpu.func @read_before
// CHECK:       vector.store
// CHECK:       nvgpu.device_async_copy
// CHECK:       scf.for
gpu.module @kernels {
  gpu.func @read_before(%from: memref<64x8xf16>, %steps: index) workgroup(%other : memref<8x8xf16, #gpu.address_space<workgroup>>, %tile : memref<8x8xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %q = vector.load %from[%thread, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
    vector.store %q, %other[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    %g = vector.load %other[%thread, %c0] : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    vector.print %g : vector<8xf16>
    scf.for %step = %c0 to %steps step %c1 {
      gpu.barrier
      %one = vector.load %from[%step, %c0] {alignment = 16 : i64} : memref<64x8xf16>, vector<8xf16>
      vector.store %one, %tile[%thread, %c0] {alignment = 16 : i64} : memref<8x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
      gpu.barrier
      %f = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, #gpu.address_space<workgroup>> -> vector<1x2xf16>
      vector.print %f : vector<1x2xf16>
    } {tir.stages = 2 : i64}
    gpu.return
  }
}

// A kernel that multiplies tiles by a warpgroup: another warpgroup copies them, two steps ahead, and both wait at mbarriers.
// RUN: legato-opt %s --split-input-file '--tir-specialize-warps=target=nvvm{chip=sm_90a}' --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @run
// CHECK-SAME:    ([[A:%.+]]: memref<?x200xf16>, [[B:%.+]]: memref<200x64xf16>, [[ROWS:%.+]]: index)
// CHECK:       [[MA:%.+]] = "tir.tensor_map"([[A]], [[ROWS]], %c200{{.*}}) {box = array<i64: 64, 64>, rows = 0 : i64}
// CHECK:       [[MB:%.+]] = "tir.tensor_map"([[B]], %c200{{.*}}, %c64{{.*}}) {box = array<i64: 64, 64>, rows = 0 : i64}
// CHECK:       [[Z:%.+]] = arith.constant 8 : index
// CHECK:       gpu.launch_func {{.*}} threads in (%{{.*}}, %{{.*}}, [[Z]]) dynamic_shared_memory_size %c33824_i32 args([[A]] : {{.*}}, [[MA]] : !llvm.ptr, [[MB]] : !llvm.ptr)
// CHECK-LABEL: gpu.func @product
// CHECK-SAME:    [[FIRST:%[a-z0-9]+]]: !llvm.ptr, [[SECOND:%[a-z0-9]+]]: !llvm.ptr) kernel attributes {known_block_size = array<i32: 4, 8, 8>, tir.tensor_maps = 2 : i64}
// CHECK:       gpu.dynamic_shared_memory
// CHECK-COUNT-4: nvvm.mbarrier.init
// CHECK-NEXT:  nvvm.fence.mbarrier.init
// CHECK:       gpu.barrier
// CHECK:       scf.if
// CHECK:         scf.for [[K:%.+]] =
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:           nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16384_i32
// CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, [[FIRST]],
// CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, [[SECOND]],
// CHECK:       } else {
// CHECK-NOT:     gpu.barrier
// CHECK:         scf.for
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:           nvvm.wgmma.fence.aligned
// CHECK-COUNT-4:   nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>, {{.*}} A[<f16>, <one>, <row>], B[<f16>, <one>, <row>]
// CHECK:           nvvm.wgmma.commit.group.sync.aligned
// CHECK-NEXT:      nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:           nvvm.mbarrier.arrive
module attributes {gpu.container_module} {
  func.func @run(%a: memref<?x200xf16>, %b: memref<200x64xf16>, %rows: index) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @product::@product blocks in (%c1, %c1, %c1) threads in (%c4, %c8, %c4) args(%a : memref<?x200xf16>, %b : memref<200x64xf16>, %rows : index)
    return
  }
  gpu.module @product {
    gpu.func @product(%a: memref<?x200xf16>, %b: memref<200x64xf16>, %rows: index) workgroup(%left : memref<64x64xf16, #gpu.address_space<workgroup>>, %right : memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      %c200 = arith.constant 200 : index
      %sums = arith.constant dense<0.0> : vector<32xf32>
      %x = gpu.thread_id x
      %first = arith.cmpi eq, %x, %c0 : index
      scf.for %step = %c0 to %c4 step %c1 {
        gpu.barrier
        scf.if %first {
          %k = arith.muli %step, %c64 : index
          "tir.bulk_copy"(%a, %left, %rows, %c200, %c0, %k) {rows = 0 : i64} : (memref<?x200xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
          "tir.bulk_copy"(%b, %right, %c200, %c64, %k, %c0) {rows = 0 : i64} : (memref<200x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
        }
        gpu.barrier
        %new = "tir.warpgroup_product"(%left, %right, %c0, %sums) {left_turned = false, right_turned = false} : (memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, vector<32xf32>) -> vector<32xf32>
        vector.print %new : vector<32xf32>
      } {tir.stages = 2 : i64}
      gpu.return
    }
  }
}

// -----

// A tile of which the threads compute the elements: those of the warpgroup that copies do so, and fence their stores off before they arrive,
// all 128, besides the one that copies.
// CHECK-LABEL: gpu.func @filled
// CHECK-SAME:    tir.tensor_maps = 1 : i64
// CHECK:       nvvm.mbarrier.init %{{.*}}, %c129_i32
// CHECK:       nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK:       scf.if
// CHECK:         [[Z:%.+]] = arith.subi %thread_id_z{{.*}}, %c4{{.*}} : index
// CHECK:         scf.for [[K:%.+]] =
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK:           scf.if
// CHECK:             nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c8192_i32
// CHECK:             nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:           arith.addi [[Z]],
// CHECK:           [[V:%.+]] = arith.sitofp %{{.*}} : vector<4xi8> to vector<4xf16>
// CHECK:           arith.xori
// CHECK:           llvm.store [[V]], %{{.*}} {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<3>
// CHECK-NEXT:      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           nvvm.mbarrier.arrive
// CHECK:       } else {
// CHECK-NOT:     llvm.store
// CHECK:         nvvm.wgmma.mma_async
module attributes {gpu.container_module} {
  func.func @run(%a: memref<64x256xf16>, %b: memref<256x64xi8>) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @filled::@filled blocks in (%c1, %c1, %c1) threads in (%c4, %c8, %c4) args(%a : memref<64x256xf16>, %b : memref<256x64xi8>)
    return
  }
  gpu.module @filled {
    gpu.func @filled(%a: memref<64x256xf16>, %b: memref<256x64xi8>) workgroup(%left : memref<64x64xf16, #gpu.address_space<workgroup>>, %right : memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      %c256 = arith.constant 256 : index
      %x = gpu.thread_id x
      %z = gpu.thread_id z
      %first = arith.cmpi eq, %x, %c0 : index
      %own = memref.alloca() : memref<32xf32>
      scf.for %step = %c0 to %c4 step %c1 {
        gpu.barrier
        scf.if %first {
          %k = arith.muli %step, %c64 : index
          "tir.bulk_copy"(%a, %left, %c64, %c256, %c0, %k) {rows = 0 : i64} : (memref<64x256xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
        }
        %row = arith.addi %z, %c1 : index
        %begin = arith.muli %step, %c64 : index
        %at = arith.addi %begin, %row : index
        %column = arith.muli %x, %c4 : index
        %bytes = vector.load %b[%at, %column] : memref<256x64xi8>, vector<4xi8>
        %halves = arith.sitofp %bytes : vector<4xi8> to vector<4xf16>
        vector.store %halves, %right[%row, %column] {alignment = 8 : i64} : memref<64x64xf16, #gpu.address_space<workgroup>>, vector<4xf16>
        %sums = vector.load %own[%c0] : memref<32xf32>, vector<32xf32>
        gpu.barrier
        %new = "tir.warpgroup_product"(%left, %right, %c0, %sums) {left_turned = false, right_turned = false} : (memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, vector<32xf32>) -> vector<32xf32>
        vector.store %new, %own[%c0] : memref<32xf32>, vector<32xf32>
      } {tir.stages = 2 : i64}
      gpu.return
    }
  }
}

// -----

// Tiles of more than half of a multiprocessor's shared memory: a block for each multiprocessor goes through the grid, whose sizes are
// parameters of the kernel where the host computes them. Both loops carry the number of steps so far.
// CHECK-LABEL: func.func @run
// CHECK-SAME:    %{{.*}}: memref<?x256xf16>, %{{.*}}: memref<256x256xf16>, [[GRID:%.+]]: index)
// CHECK-DAG:   [[MANY:%.+]] = "tir.multiprocessors"() : () -> index
// CHECK-DAG:   [[ALL:%.+]] = arith.muli
// CHECK:       [[BLOCKS:%.+]] = arith.minui %{{.*}}, [[MANY]] : index
// CHECK:       gpu.launch_func {{.*}} blocks in ([[BLOCKS]], %{{.*}}, %{{.*}}) {{.*}} args({{.*}}, [[GRID]] : index, %c2{{.*}} : index, %c1{{.*}} : index, %{{.*}} : !llvm.ptr, %{{.*}} : !llvm.ptr)
// CHECK-LABEL: gpu.func @tiles
// CHECK-SAME:    [[X:%[a-z0-9]+]]: index, [[Y:%[a-z0-9]+]]: index, [[Z:%[a-z0-9]+]]: index, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr)
// CHECK-NOT:   known_grid_size
// CHECK:       scf.if
// CHECK:         [[FIRST:%.+]] = gpu.block_id x
// CHECK:         [[BY:%.+]] = gpu.grid_dim x
// CHECK:         scf.for [[TILE:%.+]] = [[FIRST]] to %{{.*}} step [[BY]] iter_args([[DONE:%.+]] = %{{.*}}) -> (index) {
// CHECK:           arith.remui [[TILE]], [[X]]
// CHECK:           scf.for
// CHECK:             arith.addi %{{.*}}, [[DONE]]
// CHECK:             nvvm.mbarrier.try_wait.parity
// CHECK:           [[NEXT:%.+]] = arith.addi [[DONE]], %{{.*}}
// CHECK:           scf.yield [[NEXT]] : index
// CHECK:       } else {
// CHECK:         scf.for [[TILE:%.+]] = %{{.*}} iter_args([[DONE:%.+]] =
// CHECK:           [[ROW:%.+]] = arith.remui [[TILE]], [[X]]
// CHECK:           scf.for
// CHECK:             nvvm.wgmma.mma_async
// CHECK:           vector.print
// CHECK:           scf.yield %{{.*}} : index
module attributes {gpu.container_module} {
  func.func @run(%a: memref<?x256xf16>, %b: memref<256x256xf16>, %grid: index) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @tiles::@tiles blocks in (%grid, %c2, %c1) threads in (%c4, %c8, %c8) args(%a : memref<?x256xf16>, %b : memref<256x256xf16>, %grid : index)
    return
  }
  gpu.module @tiles {
    gpu.func @tiles(%a: memref<?x256xf16>, %b: memref<256x256xf16>, %rows: index) workgroup(%left : memref<128x64xf16, #gpu.address_space<workgroup>>, %right : memref<64x128xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %sums = arith.constant dense<0.0> : vector<64xf32>
      %x = gpu.thread_id x
      %i = gpu.block_id x
      %j = gpu.block_id y
      %first = arith.cmpi eq, %x, %c0 : index
      scf.for %step = %c0 to %c4 step %c1 {
        gpu.barrier
        scf.if %first {
          %k = arith.muli %step, %c64 : index
          %row = arith.muli %i, %c128 : index
          %column = arith.muli %j, %c128 : index
          "tir.bulk_copy"(%a, %left, %rows, %c256, %row, %k) {rows = 0 : i64} : (memref<?x256xf16>, memref<128x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
          "tir.bulk_copy"(%b, %right, %c256, %c256, %k, %column) {rows = 0 : i64} : (memref<256x256xf16>, memref<64x128xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
        }
        gpu.barrier
        %new = "tir.warpgroup_product"(%left, %right, %c0, %sums) {left_turned = false, right_turned = false} : (memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, index, vector<64xf32>) -> vector<64xf32>
        vector.print %new : vector<64xf32>
      } {tir.stages = 4 : i64}
      vector.print %i : index
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @alone {
    gpu.func @alone(%a: memref<64x200xf16>) workgroup(%tile : memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      // expected-error @below {{one loop of several steps, with copies before a barrier, and products after it, and has no barriers elsewhere; this one has 1 copies, 0 products}}
      "tir.bulk_copy"(%a, %tile, %c64, %c64, %c0, %c0) {rows = 0 : i64} : (memref<64x200xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
      gpu.return
    }
  }
}

// Tiles that threads copy for warpgroups: copies go where the swizzle has the elements, and are made known before the barrier.
// RUN: legato-opt %s --split-input-file --verify-diagnostics --tir-swizzle-tiles | filecheck %s

// CHECK-LABEL: gpu.func @product
// CHECK-SAME:    workgroup([[LEFT:%.+]] : memref<64x64xf16, #gpu.address_space<workgroup>> {llvm.align = 1024 : i64}, [[RIGHT:%.+]] : memref<2x64x64xf16, #gpu.address_space<workgroup>> {llvm.align = 1024 : i64}, %{{.+}} : memref<8xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64})
// CHECK:         [[TURN:%.+]] = arith.remui %arg2, %c8
// CHECK:         [[INSIDE:%.+]] = arith.remui %arg3, %c64
// CHECK:         [[PIECE:%.+]] = arith.divui [[INSIDE]], %c8
// CHECK:         [[MOVED:%.+]] = arith.xori [[PIECE]], [[TURN]]
// CHECK:         [[BEGIN:%.+]] = arith.muli [[MOVED]], %c8
// CHECK:         [[REST:%.+]] = arith.remui %arg3, %c8
// CHECK:         [[COLUMN:%.+]] = arith.addi [[BEGIN]], [[REST]]
// CHECK:         vector.store %arg4, [[LEFT]][%arg2, [[COLUMN]]]
// CHECK:         nvgpu.device_async_copy %arg0[%arg2, %arg3], [[RIGHT]][%c1, %arg2, %{{.+}}], 8
// CHECK:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK-NEXT:    gpu.barrier
// CHECK:         nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async
// CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:         llvm.inline_asm has_side_effects "{{.*}}wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0,{{.*}}, p, 1, 1, 1;
// CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NOT:     tir.warpgroup_product
#shared = #gpu.address_space<workgroup>
gpu.module @kernels {
  gpu.func @product(%from: memref<64x64xf16>, %to: memref<32xf32>, %row: index, %column: index, %some: vector<8xf16>, %own: vector<32xf16>)
      workgroup(%left : memref<64x64xf16, #shared>, %right : memref<2x64x64xf16, #shared>, %other : memref<8xf32, #shared>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zeros = arith.constant dense<0.0> : vector<32xf32>
    vector.store %some, %left[%row, %column] {alignment = 16 : i64} : memref<64x64xf16, #shared>, vector<8xf16>
    %token = nvgpu.device_async_copy %from[%row, %column], %right[%c1, %row, %column], 8 : memref<64x64xf16> to memref<2x64x64xf16, #shared>
    gpu.barrier
    %view = memref.subview %right[%c1, 0, 0] [1, 64, 64] [1, 1, 1] : memref<2x64x64xf16, #shared> to memref<64x64xf16, strided<[64, 1], offset: ?>, #shared>
    %0 = "tir.warpgroup_product"(%left, %view, %c0, %zeros) {left_turned = false, right_turned = true}
      : (memref<64x64xf16, #shared>, memref<64x64xf16, strided<[64, 1], offset: ?>, #shared>, index, vector<32xf32>) -> vector<32xf32>
    %1 = "tir.warpgroup_product"(%own, %view, %c0, %0) {left_turned = false, right_turned = false}
      : (vector<32xf16>, memref<64x64xf16, strided<[64, 1], offset: ?>, #shared>, index, vector<32xf32>) -> vector<32xf32>
    vector.store %1, %to[%c0] : memref<32xf32>, vector<32xf32>
    gpu.return
  }
}

// -----

#shared = #gpu.address_space<workgroup>
gpu.module @kernels {
  gpu.func @read(%own: vector<32xf16>) workgroup(%right : memref<64x64xf16, #shared>) kernel {
    %c0 = arith.constant 0 : index
    %zeros = arith.constant dense<0.0> : vector<32xf32>
    %0 = "tir.warpgroup_product"(%own, %right, %c0, %zeros) {left_turned = false, right_turned = false}
      : (vector<32xf16>, memref<64x64xf16, #shared>, index, vector<32xf32>) -> vector<32xf32>
    // expected-error @below {{memref.load touches a tile that warpgroups multiply: these are copied, and else only multiplied}}
    %1 = memref.load %right[%c0, %c0] : memref<64x64xf16, #shared>
    memref.store %1, %right[%c0, %c0] : memref<64x64xf16, #shared>
    gpu.return
  }
}

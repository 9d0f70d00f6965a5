// An attention of warpgroups: the queries' tile is copied once, in front of those of keys and values, and the product with values has the
// threads' own elements on the left.
// RUN: legato-opt %s '--tir-specialize-warps=target=nvvm{chip=sm_90a}' --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @run
// CHECK-COUNT-3: tir.tensor_map
// CHECK-LABEL: gpu.func @attention
// CHECK-SAME:    tir.tensor_maps = 3 : i64
// CHECK-COUNT-5: nvvm.mbarrier.init
// CHECK-NEXT:  nvvm.fence.mbarrier.init
// the warpgroup that copies
// CHECK:       nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c8192_i32
// CHECK:       nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:       scf.for
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c4096_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// the one that multiplies
// CHECK:       } else {
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK:         scf.for
// CHECK:           nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-4:   nvvm.wgmma.mma_async {{.*}} <m = 64, n = 16, k = 16>
// CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:           wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:           nvvm.mbarrier.arrive
module attributes {gpu.container_module} {
  func.func @run(%q: memref<64x64xf16>, %k: memref<?x64xf16>, %v: memref<?x64xf16>, %keys: index, %steps: index) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @attention::@attention blocks in (%c1, %c1, %c1) threads in (%c4, %c8, %c4)
      args(%q : memref<64x64xf16>, %k : memref<?x64xf16>, %v : memref<?x64xf16>, %keys : index, %steps : index)
    return
  }
  gpu.module @attention {
    gpu.func @attention(%q: memref<64x64xf16>, %k: memref<?x64xf16>, %v: memref<?x64xf16>, %keys: index, %steps: index)
        workgroup(%queries : memref<64x64xf16, #gpu.address_space<workgroup>>, %some : memref<16x64xf16, #gpu.address_space<workgroup>>, %values : memref<16x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %zeros = arith.constant dense<0.0> : vector<8xf32>
      %sums = arith.constant dense<0.0> : vector<32xf32>
      %x = gpu.thread_id x
      %first = arith.cmpi eq, %x, %c0 : index
      scf.if %first {
        "tir.bulk_copy"(%q, %queries, %c64, %c64, %c0, %c0) {rows = 0 : i64} : (memref<64x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
      }
      scf.for %step = %c0 to %steps step %c1 {
        gpu.barrier
        scf.if %first {
          %n = arith.muli %step, %c16 : index
          "tir.bulk_copy"(%k, %some, %keys, %c64, %n, %c0) {rows = 0 : i64} : (memref<?x64xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
          "tir.bulk_copy"(%v, %values, %keys, %c64, %n, %c0) {rows = 0 : i64} : (memref<?x64xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
        }
        gpu.barrier
        %scores = "tir.warpgroup_product"(%queries, %some, %c0, %zeros) {left_turned = false, right_turned = true}
          : (memref<64x64xf16, #gpu.address_space<workgroup>>, memref<16x64xf16, #gpu.address_space<workgroup>>, index, vector<8xf32>) -> vector<8xf32>
        %weights = arith.truncf %scores : vector<8xf32> to vector<8xf16>
        %new = "tir.warpgroup_product"(%weights, %values, %c0, %sums) {left_turned = false, right_turned = false}
          : (vector<8xf16>, memref<16x64xf16, #gpu.address_space<workgroup>>, index, vector<32xf32>) -> vector<32xf32>
        vector.print %new : vector<32xf32>
      } {tir.stages = 2 : i64}
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @run(%q: memref<64x64xf16>, %steps: index) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @late::@late blocks in (%c1, %c1, %c1) threads in (%c4, %c8, %c4) args(%q : memref<64x64xf16>, %steps : index)
    return
  }
  gpu.module @late {
    gpu.func @late(%q: memref<64x64xf16>, %steps: index) workgroup(%queries : memref<64x64xf16, #gpu.address_space<workgroup>>, %some : memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %zeros = arith.constant dense<0.0> : vector<32xf32>
      %x = gpu.thread_id x
      %first = arith.cmpi eq, %x, %c0 : index
      scf.for %step = %c0 to %steps step %c1 {
        gpu.barrier
        scf.if %first {
          "tir.bulk_copy"(%q, %some, %c64, %c64, %c0, %c0) {rows = 0 : i64} : (memref<64x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
        }
        gpu.barrier
        %new = "tir.warpgroup_product"(%queries, %some, %c0, %zeros) {left_turned = false, right_turned = true}
          : (memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, vector<32xf32>) -> vector<32xf32>
        vector.print %new : vector<32xf32>
      }
      // expected-error @below {{what is copied by tma_tile outside of a kernel's loop is copied in front of it}}
      scf.if %first {
        "tir.bulk_copy"(%q, %queries, %c64, %c64, %c0, %c0) {rows = 0 : i64} : (memref<64x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index) -> ()
      }
      gpu.return
    }
  }
}

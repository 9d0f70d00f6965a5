// A convolution whose windows a warpgroup copies: the map says where windows begin, and the copy which of their elements it takes.
// RUN: legato-opt %s --split-input-file '--tir-specialize-warps=target=nvvm{chip=sm_90a}' --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @run
// CHECK-SAME:    ([[A:%.+]]: memref<?x14x12x128xf16>, [[B:%.+]]: memref<9x128x64xf16>, [[IMAGES:%.+]]: index)
// CHECK:       "tir.tensor_map"([[A]], [[IMAGES]], %c128{{.*}}) {box = array<i64: 64, 64>, lower = array<i64: -1, 0>, rows = 0 : i64, strides = array<i64: 2, 1>, upper = array<i64: -2, -2>}
// CHECK:       "tir.tensor_map"([[B]], %c128{{.*}}, %c64{{.*}}) {box = array<i64: 64, 64>, rows = 1 : i64}
// CHECK-LABEL: gpu.func @windows
// CHECK:           nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16384_i32
// CHECK:           [[X:%.+]] = arith.index_cast %{{.*}} : index to i16
// CHECK-NEXT:      [[Y:%.+]] = arith.index_cast %{{.*}} : index to i16
// CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] im2col[[[X]], [[Y]]] {mode = #nvvm.tma_load_mode<im2col>}
// CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}] :
module attributes {gpu.container_module} {
  func.func @run(%a: memref<?x14x12x128xf16>, %b: memref<9x128x64xf16>, %images: index) {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @windows::@windows blocks in (%c1, %c1, %c1) threads in (%c4, %c8, %c4) args(%a : memref<?x14x12x128xf16>, %b : memref<9x128x64xf16>, %images : index)
    return
  }
  gpu.module @windows {
    gpu.func @windows(%a: memref<?x14x12x128xf16>, %b: memref<9x128x64xf16>, %images: index) workgroup(%left : memref<64x64xf16, #gpu.address_space<workgroup>>, %right : memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c18 = arith.constant 18 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %sums = arith.constant dense<0.0> : vector<32xf32>
      %x = gpu.thread_id x
      %first = arith.cmpi eq, %x, %c0 : index
      scf.for %step = %c0 to %c18 step %c1 {
        gpu.barrier
        scf.if %first {
          %tap = arith.divui %step, %c2 : index
          %half = arith.remui %step, %c2 : index
          %channel = arith.muli %half, %c64 : index
          %dy = arith.divui %tap, %c3 : index
          %dx = arith.remui %tap, %c3 : index
          "tir.bulk_copy"(%a, %left, %images, %c128, %c0, %c0, %c0, %channel, %dy, %dx) {rows = 0 : i64, lower = array<i64: -1, 0>, upper = array<i64: -2, -2>, strides = array<i64: 2, 1>} : (memref<?x14x12x128xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index, index, index, index, index) -> ()
          "tir.bulk_copy"(%b, %right, %c128, %c64, %tap, %channel, %c0) {rows = 1 : i64} : (memref<9x128x64xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index, index) -> ()
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

// Windows along one of two axes.
func.func @half(%a: memref<2x14x12x128xf16>, %tile: memref<64x64xf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{has lower, upper, strides for each axis between the first and the last}}
  "tir.bulk_copy"(%a, %tile, %i, %i, %i, %i, %i, %i, %i, %i) {rows = 0 : i64, lower = array<i64: -1>, upper = array<i64: -2>, strides = array<i64: 2>} : (memref<2x14x12x128xf16>, memref<64x64xf16, #gpu.address_space<workgroup>>, index, index, index, index, index, index, index, index) -> ()
  return
}

// RUN: legato-opt %s --split-input-file --verify-diagnostics --tir-lower-matrices | filecheck %s

// Places come from the number of the subgroup, not from the threads' indices. A turned matrix is loaded transposed; rows are 40 elements apart.
// CHECK-LABEL: gpu.func @halves
// CHECK: %[[SUBGROUP:.*]] = gpu.subgroup_id : index
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[SUM:.*]] = gpu.subgroup_mma_constant_matrix %[[ZERO]] : !gpu.mma_matrix<16x8xf32, "COp">
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[OLD:.*]] = %[[SUM]]) -> (!gpu.mma_matrix<16x8xf32, "COp">)
// CHECK: %[[ROW:.*]] = arith.muli %[[SUBGROUP]], %c16
// CHECK: %[[A:.*]] = gpu.subgroup_mma_load_matrix %{{.*}}[%[[ROW]], %c0{{.*}}] {leadDimension = 40 : index} : {{.*}} -> !gpu.mma_matrix<16x16xf16, "AOp">
// CHECK: %[[B:.*]] = gpu.subgroup_mma_load_matrix %{{.*}} {leadDimension = 40 : index, transpose} : {{.*}} -> !gpu.mma_matrix<16x8xf16, "BOp">
// CHECK: %[[NEW:.*]] = gpu.subgroup_mma_compute %[[A]], %[[B]], %[[OLD]]
// CHECK: scf.yield %[[NEW]]
// CHECK: gpu.subgroup_mma_store_matrix %[[ALL]], %{{.*}} {leadDimension = 36 : index}
gpu.module @kernels {
  gpu.func @halves(%n: index) workgroup(%left: memref<32x40xf16, 3>, %right: memref<8x40xf16, 3>, %sums: memref<32x36xf32, 3>)
      kernel attributes {known_block_size = array<i32: 32, 2, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant dense<0.0> : vector<16x8xf32>
    %y = gpu.thread_id y
    %row = arith.muli %y, %c16 : index
    %all = scf.for %k = %c0 to %n step %c1 iter_args(%old = %zero) -> (vector<16x8xf32>) {
      %a = "tir.load_matrix"(%left, %row, %c0) {turned = false} : (memref<32x40xf16, 3>, index, index) -> vector<16x16xf16>
      %b = "tir.load_matrix"(%right, %c0, %c0) {turned = true} : (memref<8x40xf16, 3>, index, index) -> vector<16x8xf16>
      %new = "tir.multiply_matrices"(%a, %b, %old) {tir.factor_types = ["f16", "f16"]} : (vector<16x16xf16>, vector<16x8xf16>, vector<16x8xf32>) -> vector<16x8xf32>
      scf.yield %new : vector<16x8xf32>
    }
    "tir.store_matrix"(%all, %sums, %row, %c0) : (vector<16x8xf32>, memref<32x36xf32, 3>, index, index) -> ()
    gpu.return
  }
}

// -----

// The bits of bf16, which are i16 here, lie in buffers of f16, and the kernel says so. Subgroups on two axes.
// CHECK-LABEL: gpu.func @brain
// CHECK-SAME: workgroup(%[[TILE:.*]] : memref<64x24xf16, 3>
// CHECK-SAME: tir.bf16_matrices
// CHECK: %[[SUBGROUP:.*]] = gpu.subgroup_id : index
// CHECK: %[[Y:.*]] = arith.remui %[[SUBGROUP]], %c2
// CHECK: %[[Z:.*]] = arith.divui %[[SUBGROUP]], %c2
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : vector<4xi16> to vector<4xf16>
// CHECK: vector.store %[[BITS]], %[[TILE]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[Y]], %[[Z]]
// CHECK: gpu.subgroup_mma_load_matrix %[[TILE]][%[[PLACE]], %{{.*}}] {{.*}} -> !gpu.mma_matrix<16x16xf16, "AOp">
gpu.module @kernels {
  gpu.func @brain(%v: vector<4xi16>) workgroup(%tile: memref<64x24xi16, 3>, %sums: memref<32x36xf32, 3>)
      kernel attributes {known_block_size = array<i32: 32, 2, 2>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<16x16xf32>
    %y = gpu.thread_id y
    %z = gpu.thread_id z
    vector.store %v, %tile[%y, %c0] : memref<64x24xi16, 3>, vector<4xi16>
    %place = arith.addi %y, %z : index
    %a = "tir.load_matrix"(%tile, %place, %c0) {turned = false} : (memref<64x24xi16, 3>, index, index) -> vector<16x16xi16>
    %new = "tir.multiply_matrices"(%a, %a, %zero) {tir.factor_types = ["bf16", "bf16"]} : (vector<16x16xi16>, vector<16x16xi16>, vector<16x16xf32>) -> vector<16x16xf32>
    "tir.store_matrix"(%new, %sums, %c0, %c0) : (vector<16x16xf32>, memref<32x36xf32, 3>, index, index) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @mixed() workgroup(%a: memref<8x8xf16, 3>, %b: memref<8x8xi16, 3>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<8x8xf32>
    %0 = "tir.load_matrix"(%a, %c0, %c0) {turned = false} : (memref<8x8xf16, 3>, index, index) -> vector<8x8xf16>
    // expected-error @+1 {{the kernel multiplies matrices of bf16 and of f16: make two kernels of it}}
    %1 = "tir.multiply_matrices"(%0, %0, %zero) {tir.factor_types = ["f16", "f16"]} : (vector<8x8xf16>, vector<8x8xf16>, vector<8x8xf32>) -> vector<8x8xf32>
    %2 = "tir.load_matrix"(%b, %c0, %c0) {turned = false} : (memref<8x8xi16, 3>, index, index) -> vector<8x8xi16>
    %3 = "tir.multiply_matrices"(%2, %2, %1) {tir.factor_types = ["bf16", "bf16"]} : (vector<8x8xi16>, vector<8x8xi16>, vector<8x8xf32>) -> vector<8x8xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @lanes() workgroup(%a: memref<40x8xf16, 3>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<8x8xf32>
    // expected-error @+1 {{the place of a matrix depends on the thread of a subgroup (threadIdx.x)}}
    %x = gpu.thread_id x
    %0 = "tir.load_matrix"(%a, %x, %c0) {turned = false} : (memref<40x8xf16, 3>, index, index) -> vector<8x8xf16>
    %1 = "tir.multiply_matrices"(%0, %0, %zero) {tir.factor_types = ["f16", "f16"]} : (vector<8x8xf16>, vector<8x8xf16>, vector<8x8xf32>) -> vector<8x8xf32>
    gpu.return
  }
}

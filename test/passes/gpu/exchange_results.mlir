// Four threads of a warp exchange pairs of 16 bits, eight columns apart, so that each stores 16 bytes.
// RUN: legato-opt %s --split-input-file --tir-exchange-results | filecheck %s

// Neighbours' numbers are one bit apart, then the other one; thread x stores eight columns from 2 x + 6 x on.
// CHECK-LABEL: gpu.func @plain
// CHECK:       [[V:%.+]] = vector.bitcast %{{.*}} : vector<2xf16> to vector<1xi32>
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT:   gpu.shuffle
// CHECK:       [[WHOLE:%.+]] = vector.bitcast %{{.*}} : vector<4xi32> to vector<8xf16>
// CHECK:       [[SIX:%.+]] = arith.muli %{{.*}}, %c6
// CHECK:       [[AT:%.+]] = arith.addi %{{.*}}, [[SIX]] : index
// CHECK-NEXT:  vector.store [[WHOLE]], %{{.*}}[%{{.*}}, [[AT]]] {alignment = 16 : i64} : memref<64x64xf16>, vector<8xf16>
// CHECK-NOT:   vector.store
gpu.module @plain {
  gpu.func @plain(%out: memref<64x64xf16>, %map: !llvm.ptr, %v: vector<2xf16>) kernel attributes {known_block_size = array<i32: 4, 8, 8>, tir.tensor_maps = 1 : i64} {
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %j0 = arith.muli %x, %c2 : index
    %j1 = arith.addi %j0, %c8 : index
    %j2 = arith.addi %j0, %c16 : index
    %j3 = arith.addi %j0, %c24 : index
    vector.store %v, %out[%y, %j0] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    vector.store %v, %out[%y, %j1] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    vector.store %v, %out[%y, %j2] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    vector.store %v, %out[%y, %j3] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    gpu.return
  }
}

// -----

// Under conditions on the row and on the column, all threads exchange, and the one that stores looks at the condition of what it stores;
// places are computed again in front of it, in the order in which they need each other.
// CHECK-LABEL: gpu.func @guarded
// CHECK-COUNT-4: scf.if {{.*}} -> (vector<2xf16>) {
// CHECK:       arith.select
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK:       scf.if
// CHECK-NEXT:    vector.store {{.*}} {alignment = 16 : i64} : memref<?x40xf16>, vector<8xf16>
// CHECK-NOT:   vector.store
gpu.module @guarded {
  gpu.func @guarded(%out: memref<?x40xf16>, %bias: memref<40xf16>, %rows: index, %map: !llvm.ptr) kernel attributes {known_block_size = array<i32: 4, 8, 8>, tir.tensor_maps = 1 : i64} {
    %zero = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c40 = arith.constant 40 : index
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %row = arith.cmpi slt, %y, %rows : index
    %j0 = arith.muli %x, %c2 : index
    %j1 = arith.addi %j0, %c8 : index
    %j2 = arith.addi %j0, %c16 : index
    %j3 = arith.addi %j0, %c24 : index
    %t0 = arith.cmpi slt, %j0, %c40 : index
    %both = arith.andi %row, %t0 : i1
    scf.if %both {
      %place = arith.muli %x, %c2 : index
      %at = arith.addi %place, %zero : index
      %v = vector.load %bias[%at] : memref<40xf16>, vector<2xf16>
      vector.store %v, %out[%y, %at] {alignment = 4 : i64} : memref<?x40xf16>, vector<2xf16>
    }
    scf.if %row {
      %v = vector.load %bias[%j1] : memref<40xf16>, vector<2xf16>
      vector.store %v, %out[%y, %j1] {alignment = 4 : i64} : memref<?x40xf16>, vector<2xf16>
    }
    scf.if %row {
      %v = vector.load %bias[%j2] : memref<40xf16>, vector<2xf16>
      vector.store %v, %out[%y, %j2] {alignment = 4 : i64} : memref<?x40xf16>, vector<2xf16>
    }
    scf.if %row {
      %at = arith.addi %j2, %c8 : index
      %v = vector.load %bias[%at] : memref<40xf16>, vector<2xf16>
      vector.store %v, %out[%y, %at] {alignment = 4 : i64} : memref<?x40xf16>, vector<2xf16>
    }
    gpu.return
  }
}

// -----

// A condition that holds for a part of 16 bytes, a place that other threads of the warp do not come to, a barrier in between, and rows
// that do not begin at multiples of 16 bytes.
// CHECK-LABEL: gpu.func @kept
// CHECK-NOT:   gpu.shuffle
// CHECK:       gpu.return
gpu.module @kept {
  gpu.func @kept(%out: memref<64x64xf16>, %odd: memref<64x36xf16>, %v: vector<2xf16>, %map: !llvm.ptr) kernel attributes {known_block_size = array<i32: 4, 8, 8>, tir.tensor_maps = 1 : i64} {
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c36 = arith.constant 36 : index
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %j0 = arith.muli %x, %c2 : index
    %j1 = arith.addi %j0, %c8 : index
    %j2 = arith.addi %j0, %c16 : index
    %j3 = arith.addi %j0, %c24 : index
    %t0 = arith.cmpi slt, %j0, %c36 : index
    %t1 = arith.cmpi slt, %y, %c8 : index
    scf.if %t0 {
      vector.store %v, %out[%y, %j0] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    }
    scf.if %t0 {
      vector.store %v, %out[%y, %j1] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    }
    scf.if %t0 {
      vector.store %v, %out[%y, %j2] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    }
    scf.if %t0 {
      vector.store %v, %out[%y, %j3] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    }
    scf.if %t1 {
      vector.store %v, %out[%y, %j0] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
      vector.store %v, %out[%y, %j1] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
      vector.store %v, %out[%y, %j2] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
      vector.store %v, %out[%y, %j3] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    }
    vector.store %v, %out[%y, %j0] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    vector.store %v, %out[%y, %j1] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    gpu.barrier
    vector.store %v, %out[%y, %j2] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    vector.store %v, %out[%y, %j3] {alignment = 4 : i64} : memref<64x64xf16>, vector<2xf16>
    vector.store %v, %odd[%y, %j0] {alignment = 4 : i64} : memref<64x36xf16>, vector<2xf16>
    vector.store %v, %odd[%y, %j1] {alignment = 4 : i64} : memref<64x36xf16>, vector<2xf16>
    vector.store %v, %odd[%y, %j2] {alignment = 4 : i64} : memref<64x36xf16>, vector<2xf16>
    vector.store %v, %odd[%y, %j3] {alignment = 4 : i64} : memref<64x36xf16>, vector<2xf16>
    gpu.return
  }
}

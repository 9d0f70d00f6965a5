// RUN: legato-opt %s --split-input-file --tir-emulate-long-integers --canonicalize --cse | filecheck %s

// An element of a buffer is two words; a loop carries both; the launch passes the same buffers.

// CHECK-LABEL: func.func @host
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : memref<4xi64> to memref<?xvector<2xi32>, #spirv.storage_class<StorageBuffer>>
// CHECK-LABEL: gpu.func @sum
// CHECK-SAME: memref<?xvector<2xi32>, #spirv.storage_class<StorageBuffer>>
// CHECK: scf.for {{.*}} iter_args(%[[LOW:.*]] = %c1_i32, %[[HIGH:.*]] = %c2_i32) -> (i32, i32)
// CHECK: %[[PAIR:.*]] = memref.load
// CHECK: %[[L:.*]] = vector.extract %[[PAIR]][0]
// CHECK: %[[H:.*]] = vector.extract %[[PAIR]][1]
// CHECK: %[[SUM:.*]] = arith.addi %[[L]], %[[LOW]]
// CHECK: %[[CARRY:.*]] = arith.cmpi ult, %[[SUM]], %[[L]]
// CHECK-NOT: i64
// CHECK: gpu.return
module attributes {gpu.container_module} {
  func.func @host(%x: memref<4xi64>) {
    %c1 = arith.constant 1 : index
    %0 = builtin.unrealized_conversion_cast %x : memref<4xi64> to memref<?xi64, #spirv.storage_class<StorageBuffer>>
    gpu.launch_func @k::@sum blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%0 : memref<?xi64, #spirv.storage_class<StorageBuffer>>)
    return
  }
  gpu.module @k {
    gpu.func @sum(%x: memref<?xi64, #spirv.storage_class<StorageBuffer>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %first = arith.constant 8589934593 : i64
      %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %first) -> (i64) {
        %a = memref.load %x[%i] : memref<?xi64, #spirv.storage_class<StorageBuffer>>
        %b = arith.addi %a, %s : i64
        scf.yield %b : i64
      }
      memref.store %sum, %x[%c0] : memref<?xi64, #spirv.storage_class<StorageBuffer>>
      gpu.return
    }
  }
}

// -----

// Of an index that is data only the lower word counts; a vector is two vectors.

// CHECK-LABEL: gpu.func @rows
// CHECK: %[[LOW:.*]] = vector.extract %{{.*}}[0] : i32 from vector<2xi32>
// CHECK: arith.index_cast %[[LOW]] : i32 to index
// CHECK: arith.select %{{.*}} : vector<2xi1>, vector<2xi32>
// CHECK: arith.select %{{.*}} : vector<2xi1>, vector<2xi32>
gpu.module @k {
  gpu.func @rows(%x: memref<?xi64>, %y: memref<?xf32>, %c: vector<2xi1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.load %x[%c0] : memref<?xi64>
    %b = memref.load %x[%c1] : memref<?xi64>
    %i = arith.index_cast %a : i64 to index
    %f = memref.load %y[%i] : memref<?xf32>
    memref.store %f, %y[%c0] : memref<?xf32>
    %v = vector.from_elements %a, %b : vector<2xi64>
    %k = arith.constant dense<[1, -1]> : vector<2xi64>
    %s = arith.select %c, %v, %k : vector<2xi1>, vector<2xi64>
    %e = vector.extract %s[1] : i64 from vector<2xi64>
    memref.store %e, %x[%c1] : memref<?xi64>
    gpu.return
  }
}

// -----

// The bits of an f64, the lower word first.

// CHECK-LABEL: gpu.func @bits
// CHECK: %[[PAIR:.*]] = vector.bitcast %{{.*}} : vector<1xf64> to vector<2xi32>
// CHECK: %[[HIGH:.*]] = vector.extract %[[PAIR]][1]
// CHECK: arith.andi %[[HIGH]], %{{.*}} : i32
// CHECK: vector.bitcast %{{.*}} : vector<2xi32> to vector<1xf64>
gpu.module @k {
  gpu.func @bits(%x: memref<?xf64>) kernel {
    %c0 = arith.constant 0 : index
    %mask = arith.constant 9223372036854775807 : i64
    %a = memref.load %x[%c0] : memref<?xf64>
    %b = arith.bitcast %a : f64 to i64
    %c = arith.andi %b, %mask : i64
    %d = arith.bitcast %c : i64 to f64
    memref.store %d, %x[%c0] : memref<?xf64>
    gpu.return
  }
}

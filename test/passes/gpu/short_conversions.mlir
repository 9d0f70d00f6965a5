// RUN: legato-opt %s --tir-short-conversions | filecheck %s

// CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: arith.sitofp %[[AT]] : i32 to f32
// CHECK: %[[SIZE:.*]] = arith.index_castui %{{.*}} : index to i32
// CHECK: arith.uitofp %[[SIZE]] : i32 to f32
// CHECK: %[[DATA:.*]] = memref.load %{{.*}} : memref<4xi64>
// CHECK: arith.sitofp %[[DATA]] : i64 to f32
// CHECK: %[[LONG:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: memref.store %[[LONG]]
gpu.module @kernels {
  gpu.func @numbers(%i: index, %data: memref<4xi64>, %out: memref<4xf32>) kernel {
    %0 = arith.index_cast %i : index to i64
    %1 = arith.sitofp %0 : i64 to f32
    memref.store %1, %out[%i] : memref<4xf32>
    %2 = arith.index_castui %i : index to i64
    %3 = arith.uitofp %2 : i64 to f32
    memref.store %3, %out[%i] : memref<4xf32>
    %4 = memref.load %data[%i] : memref<4xi64>
    %5 = arith.sitofp %4 : i64 to f32
    memref.store %5, %out[%i] : memref<4xf32>
    %6 = arith.index_cast %i : index to i64
    memref.store %6, %data[%i] : memref<4xi64>
    gpu.return
  }
}

// on the host, indices have 64 bits

// CHECK-LABEL: func.func @host
// CHECK: arith.index_cast %{{.*}} : index to i64
func.func @host(%n: index) -> f64 {
  %0 = arith.index_cast %n : index to i64
  %1 = arith.sitofp %0 : i64 to f64
  return %1 : f64
}

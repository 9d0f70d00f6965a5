// RUN: legato-opt %s --tir-bound-integers | filecheck %s

// Integers that may be infinite in f16 are bounded in f32 first, those with a sign on both sides.
// CHECK-LABEL: func.func private @wide
// CHECK: %[[U:.*]] = arith.uitofp %arg0 : vector<8xi64> to vector<8xf32>
// CHECK: %[[BOUND:.*]] = arith.constant dense<6.553600e+04> : vector<8xf32>
// CHECK: %[[INSIDE:.*]] = arith.cmpf olt, %[[U]], %[[BOUND]]
// CHECK: %[[KEPT:.*]] = arith.select %[[INSIDE]], %[[U]], %[[BOUND]]
// CHECK: arith.truncf %[[KEPT]] : vector<8xf32> to vector<8xf16>
// CHECK: %[[S:.*]] = arith.sitofp %arg1 : i32 to f32
// CHECK: arith.cmpf olt, %[[S]]
// CHECK: arith.cmpf ogt
// CHECK: arith.truncf {{.*}} : f32 to f16
// CHECK: arith.uitofp %arg1 : i32 to f32
// CHECK: %[[R:.*]] = arith.uitofp %arg1 : i32 to f32
// CHECK: %[[K:.*]] = arith.select {{.*}}, %[[R]],
// CHECK: arith.truncf %[[K]] : f32 to f16
func.func private @wide(%x: vector<8xi64>, %y: i32) -> (vector<8xf16>, f16, f16) {
  %0 = arith.uitofp %x : vector<8xi64> to vector<8xf16>
  %1 = arith.sitofp %y : i32 to f16
  %2 = arith.uitofp %y : i32 to f32
  %3 = arith.truncf %2 fastmath<contract> : f32 to f16
  return %0, %1, %3 : vector<8xf16>, f16, f16
}

// Others stay: those of 16 bits, and to types that hold 2^64.
// CHECK-LABEL: func.func private @narrow
// CHECK: arith.uitofp %arg0 : i16 to f16
// CHECK: arith.sitofp %arg1 : i64 to bf16
// CHECK: arith.sitofp %arg1 : i64 to f32
func.func private @narrow(%x: i16, %y: i64) -> (f16, bf16, f32) {
  %0 = arith.uitofp %x : i16 to f16
  %1 = arith.sitofp %y : i64 to bf16
  %2 = arith.sitofp %y : i64 to f32
  return %0, %1, %2 : f16, bf16, f32
}

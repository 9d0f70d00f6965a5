// RUN: legato-opt %s --split-input-file --verify-diagnostics --tir-expand-float8 | filecheck %s

// Bytes stay bytes, where they are only moved; conversions are arithmetic on bits, and vectors, of matrix instructions, stay.
// CHECK-LABEL: func.func @convert(
// CHECK-SAME: %[[BYTE:.*]]: i8, %[[X:.*]]: f32, %[[TEST:.*]]: i1, %[[V:.*]]: vector<4xi8>)
// CHECK: %[[MOVED:.*]] = scf.if %[[TEST]] -> (i8) {
// CHECK-NEXT: scf.yield %[[BYTE]] : i8
// CHECK: %[[WIDE:.*]] = arith.extui %[[MOVED]] : i8 to i32
// CHECK: arith.trunci %{{.*}} : i32 to i8
// CHECK: %[[MATRIX:.*]] = arith.bitcast %[[V]] : vector<4xi8> to vector<4xf8E5M2>
// CHECK: return %{{.*}}, %{{.*}}, %[[MATRIX]]
func.func @convert(%byte: i8, %x: f32, %test: i1, %v: vector<4xi8>) -> (f32, i8, vector<4xf8E5M2>) {
  %0 = arith.bitcast %byte : i8 to f8E4M3FN
  %zero = arith.constant 0.0 : f8E4M3FN
  %1 = scf.if %test -> (f8E4M3FN) {
    scf.yield %0 : f8E4M3FN
  } else {
    scf.yield %zero : f8E4M3FN
  }
  %2 = arith.extf %1 : f8E4M3FN to f32
  %3 = arith.truncf %x : f32 to f8E5M2
  %4 = arith.bitcast %3 : f8E5M2 to i8
  %5 = arith.bitcast %v : vector<4xi8> to vector<4xf8E5M2>
  return %2, %4, %5 : f32, i8, vector<4xf8E5M2>
}

// -----

// Upstream folds a conversion through f32 into one.
// CHECK-LABEL: func.func @folded(
// CHECK-SAME: %[[BYTE:.*]]: i8, %[[HALF:.*]]: f16, %[[I:.*]]: i32, %[[U:.*]]: i1)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %[[HALF]] : f16 to f32
// CHECK: arith.sitofp %[[I]] : i32 to f32
// CHECK: arith.uitofp %[[U]] : i1 to f32
// CHECK: return %{{.*}} : bf16, i8, i8, i8
func.func @folded(%byte: i8, %half: f16, %i: i32, %u: i1) -> (bf16, i8, i8, i8) {
  %0 = arith.bitcast %byte : i8 to f8E4M3FN
  %1 = arith.extf %0 : f8E4M3FN to bf16
  %2 = arith.truncf %half : f16 to f8E4M3FN
  %3 = arith.bitcast %2 : f8E4M3FN to i8
  %4 = arith.sitofp %i : i32 to f8E5M2
  %5 = arith.bitcast %4 : f8E5M2 to i8
  %6 = arith.uitofp %u : i1 to f8E5M2
  %7 = arith.bitcast %6 : f8E5M2 to i8
  return %1, %3, %5, %7 : bf16, i8, i8, i8
}

// -----

func.func @sum(%byte: i8) -> i8 {
  %0 = arith.bitcast %byte : i8 to f8E4M3FN
  // expected-error@+1 {{arith.addf computes in f8E4M3FN: kernels convert floats of 8 bits to f32 first}}
  %1 = arith.addf %0, %0 : f8E4M3FN
  %2 = arith.bitcast %1 : f8E4M3FN to i8
  return %2 : i8
}

// The intrinsics that math and arith lack: on numbers and vectors; their verifiers.
// RUN: legato-opt %s --split-input-file --verify-diagnostics --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @good
// CHECK: "tir.hypot"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: "tir.frexp"(%{{.*}}) : (vector<4xf64>) -> (vector<4xf64>, vector<4xi32>)
// CHECK: "tir.ldexp"(%{{.*}}, %{{.*}}) : (f16, i32) -> f16
// CHECK: "tir.signbit"(%{{.*}}) : (vector<4xf64>) -> vector<4xi1>
// CHECK: "tir.gcd"(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
func.func @good(%x: f32, %v: vector<4xf64>, %h: f16, %n: i32) {
  %0 = "tir.hypot"(%x, %x) : (f32, f32) -> f32
  %1, %2 = "tir.frexp"(%v) : (vector<4xf64>) -> (vector<4xf64>, vector<4xi32>)
  %3 = "tir.ldexp"(%h, %n) : (f16, i32) -> f16
  %4 = "tir.signbit"(%v) : (vector<4xf64>) -> vector<4xi1>
  %5 = "tir.gcd"(%n, %n) : (i32, i32) -> i32
  return
}

// -----

func.func @count(%x: f32) {
  // expected-error@+1 {{'tir.hypot' op expects 2 operands and 1 results, has 1 and 1}}
  %0 = "tir.hypot"(%x) : (f32) -> f32
  return
}

// -----

func.func @kind(%n: i32) {
  // expected-error@+1 {{'tir.lgamma' op takes float numbers or vectors of them, not i32}}
  %0 = "tir.lgamma"(%n) : (i32) -> i32
  return
}

// -----

func.func @mixed(%x: f32, %y: f64) {
  // expected-error@+1 {{'tir.hypot' op expects y to be f32, is f64}}
  %0 = "tir.hypot"(%x, %y) : (f32, f64) -> f32
  return
}

// -----

func.func @result(%v: vector<4xf32>) {
  // expected-error@+1 {{'tir.ilogb' op expects result to be vector<4xi32>, is i32}}
  %0 = "tir.ilogb"(%v) : (vector<4xf32>) -> i32
  return
}

// RUN: legato-opt %s --tir-legalize-intrinsics=target=llvm{cpu=x86-64-v3} | filecheck %s
// RUN: legato-opt %s --pass-pipeline='tir-legalize-intrinsics{target=llvm only-with-halves=true}' | filecheck %s --check-prefix=HALVES

// An exponential is a polynomial on a CPU.
// CHECK-LABEL: func.func @exponential(
// CHECK-NOT: math.exp
// CHECK: math.fma
// HALVES: math.exp
func.func @exponential(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// The greater of two, where one is a constant, is one comparison; a NaN in the other stays.
// CHECK-LABEL: func.func @relu(
// CHECK: arith.cmpf ogt, %[[ZERO:.*]], %[[X:.*]] :
// CHECK-NEXT: arith.select %{{.*}}, %[[ZERO]], %[[X]]
// CHECK-NOT: arith.cmpf
// CHECK-LABEL: func.func @greater(
// CHECK-COUNT-2: arith.cmpf
func.func @relu(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %0 = arith.maximumf %x, %zero : f32
  return %0 : f32
}
func.func @greater(%x: f32, %y: f32) -> f32 {
  %0 = arith.maximumf %x, %y : f32
  return %0 : f32
}

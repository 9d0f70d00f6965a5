// A reciprocal that needs few digits is an instruction of AVX-512; other divisions stay.
// RUN: legato-opt %s --tir-legalize-intrinsics='target=llvm{cpu=x86-64-v4}' | filecheck %s --check-prefixes=CHECK,AVX512
// RUN: legato-opt %s --tir-legalize-intrinsics='target=llvm{cpu=x86-64-v3}' | filecheck %s --check-prefixes=CHECK,AVX2

// CHECK-LABEL: func.func @estimated(
// AVX512: %[[LOW:.*]] = llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
// AVX512: %[[HIGH:.*]] = llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.512"
// AVX512-NOT: arith.divf
// AVX2: arith.divf
func.func @estimated(%x: vector<32xf32>) -> vector<32xf32> {
  %one = arith.constant dense<1.0> : vector<32xf32>
  %0 = arith.divf %one, %x {tir.estimate} : vector<32xf32>
  return %0 : vector<32xf32>
}

// Vectors of 8 numbers have a shorter instruction, scalars have none.
// CHECK-LABEL: func.func @short(
// AVX512: llvm.call_intrinsic "llvm.x86.avx512.rcp14.ps.256"
// CHECK-LABEL: func.func @scalar(
// CHECK: arith.divf
func.func @short(%x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %0 = arith.divf %one, %x {tir.estimate} : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func @scalar(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %0 = arith.divf %one, %x {tir.estimate} : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @exact(
// CHECK: arith.divf
func.func @exact(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = arith.divf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

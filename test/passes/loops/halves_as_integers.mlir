// RUN: legato-opt %s --tir-halves-as-integers=target=llvm{cpu=x86-64-v3} | filecheck %s
// RUN: legato-opt %s --tir-halves-as-integers=target=llvm{cpu=x86-64-v2} | filecheck %s --check-prefix=V2
// RUN: legato-opt %s --tir-halves-as-integers=target=llvm{cpu=sapphirerapids} | filecheck %s --check-prefix=ROUNDS

// bf16 is the upper half of an f32: its casts are shifts, and what moves it moves i16.
// CHECK-LABEL: func.func @brain(
// CHECK-SAME: memref<16xi16>
// CHECK-NOT: bf16
// CHECK: vector.transfer_read {{.*}} vector<16xi16>
// CHECK: %[[WIDE:.*]] = arith.extui %{{.*}} : vector<16xi16> to vector<16xi32>
// CHECK: %[[UP:.*]] = arith.shli %[[WIDE]]
// CHECK: arith.bitcast %[[UP]] : vector<16xi32> to vector<16xf32>
func.func @brain(%x: memref<16xbf16>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %0 = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : memref<16xbf16>, vector<16xbf16>
  %1 = arith.extf %0 : vector<16xbf16> to vector<16xf32>
  vector.transfer_write %1, %y[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  return
}

// LLVM's intrinsics take bf16 as it is.
// CHECK-LABEL: func.func @intrinsic(
// CHECK-SAME: vector<32xi16>
// CHECK: %[[PAIRS:.*]] = arith.bitcast %{{.*}} : vector<32xi16> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[PAIRS]], %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>)
func.func @intrinsic(%sums: vector<16xf32>, %x: vector<32xbf16>) -> vector<16xf32> {
  %0 = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%sums, %x, %x) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
  return %0 : vector<16xf32>
}

// f16 stays where the CPU converts it; without F16C its casts would be calls of a library, one an element.
// CHECK-LABEL: func.func @half(
// CHECK-SAME: f16
// CHECK: arith.truncf
// V2-LABEL: func.func @half(
// V2-SAME: f32) -> i16
// V2-NOT: arith.truncf
// V2: return %{{.*}} : i16
func.func @half(%x: f32) -> f16 {
  %0 = arith.truncf %x : f32 to f16
  return %0 : f16
}

// What f16 must hold is rounded to it: the cast back is not folded with the cast to it.
// CHECK-LABEL: func.func @rounded(
// CHECK: %[[SUM:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: arith.extf %[[SUM]] {{.*}}: f16 to f32
func.func @rounded(%x: f32) -> f32 {
  %0 = arith.truncf %x fastmath<contract> : f32 to f16
  %1 = arith.extf %0 fastmath<contract> : f16 to f32
  return %1 : f32
}

// A rounding that may flush denormal numbers is one instruction, where the CPU has it; another one is not.
// ROUNDS-LABEL: func.func @flushed(
// ROUNDS: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{.*}}) : (vector<16xf32>) -> vector<16xbf16>
// ROUNDS: arith.bitcast %{{.*}} : vector<16xbf16> to vector<16xi16>
// ROUNDS-NOT: call_intrinsic
// CHECK-LABEL: func.func @flushed(
// CHECK-NOT: call_intrinsic
func.func @flushed(%x: memref<16xf32>, %y: memref<16xbf16>, %z: memref<16xbf16>) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
  %1 = arith.truncf %0 {tir.flushes} : vector<16xf32> to vector<16xbf16>
  vector.store %1, %y[%c0] : memref<16xbf16>, vector<16xbf16>
  %2 = arith.truncf %0 : vector<16xf32> to vector<16xbf16>
  vector.store %2, %z[%c0] : memref<16xbf16>, vector<16xbf16>
  return
}

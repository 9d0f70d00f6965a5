// Both moments on one op: what each target makes of an exponential, of numbers and vectors, by element type.
// RUN: legato-opt %s --tir-legalize-intrinsics=target=generic --tir-lower-intrinsics=target=generic | filecheck %s --check-prefix=GENERIC
// RUN: legato-opt %s --tir-legalize-intrinsics='target=llvm{cpu=x86-64-v3}' --tir-lower-intrinsics='target=llvm{cpu=x86-64-v3}' | filecheck %s --check-prefix=LLVM
// RUN: legato-opt %s --tir-legalize-intrinsics=target=nvvm --tir-lower-intrinsics=target=nvvm | filecheck %s --check-prefix=NVVM
// RUN: legato-opt %s --tir-legalize-intrinsics=target=vulkan --tir-lower-intrinsics=target=vulkan | filecheck %s --check-prefix=VULKAN
// RUN: legato-opt %s --tir-legalize-intrinsics='target=nvvm{approx=true}' --tir-lower-intrinsics='target=nvvm{approx=true}' | filecheck %s --check-prefix=APPROX
// RUN: legato-opt %s --tir-legalize-intrinsics=target=nvvm --tir-lower-intrinsics=target=nvvm --explain | filecheck %s --check-prefix=EXPLAIN

// The root of all chains has a polynomial of f32, and nothing of f64.
// GENERIC-LABEL: func.func @scalar
// GENERIC: math.fma
// GENERIC-NOT: math.exp
// GENERIC-LABEL: func.func @vector
// GENERIC-NOT: math.exp
// GENERIC: math.fma {{.*}} : vector<4xf32>
// GENERIC-LABEL: func.func @half
// GENERIC: arith.extf %{{.*}} : f16 to f32
// GENERIC: math.fma
// GENERIC: arith.truncf %{{.*}} : f32 to f16
// GENERIC-LABEL: func.func @double
// GENERIC: math.exp

// LLVM: func.func private @exp(f64) -> f64
// LLVM-LABEL: func.func @scalar
// LLVM-NOT: call
// LLVM: math.fma
// LLVM-LABEL: func.func @vector
// What rounds to 0 is 0 before it is scaled: a product that underflows is slow.
// LLVM: %[[ZERO:.*]] = arith.cmpf olt, %arg0, %{{.*}} : vector<4xf32>
// LLVM: math.fma {{.*}} : vector<4xf32>
// LLVM: %[[Y:.*]] = arith.select %[[ZERO]], %{{.*}}, %{{.*}} : vector<4xi1>, vector<4xf32>
// LLVM: arith.mulf %[[Y]], %{{.*}} : vector<4xf32>
// LLVM-LABEL: func.func @half
// LLVM: arith.extf
// LLVM-LABEL: func.func @double
// LLVM: call @exp(%{{.*}}) : (f64) -> f64

// NVVM-LABEL: func.func @scalar
// NVVM: call @__nv_expf(%{{.*}}) : (f32) -> f32
// NVVM-LABEL: func.func @vector
// NVVM-COUNT-4: call @__nv_expf
// NVVM: vector.from_elements
// NVVM-LABEL: func.func @half
// NVVM: arith.extf
// NVVM: call @__nv_expf
// NVVM: arith.truncf
// NVVM-LABEL: func.func @double
// NVVM: call @__nv_exp(%{{.*}}) : (f64) -> f64

// APPROX-LABEL: func.func @scalar
// APPROX: llvm.call_intrinsic "llvm.nvvm.ex2.approx"
// APPROX-LABEL: func.func @double
// APPROX: call @__nv_exp

// VULKAN-LABEL: func.func @scalar
// VULKAN: spirv.GL.Exp %{{.*}} : f32
// VULKAN-LABEL: func.func @vector
// VULKAN: spirv.GL.Exp %{{.*}} : vector<4xf32>
// VULKAN-LABEL: func.func @half
// VULKAN: spirv.GL.Exp %{{.*}} : f16
// VULKAN-LABEL: func.func @double
// VULKAN-NOT: math.exp
// VULKAN: spirv.GL.Fma %{{.*}} : f64

// EXPLAIN: math.exp {{ *}}f32 {{ *}}nvvm {{ *}}__nv_exp
// EXPLAIN-NEXT: nvvm/ex2_approx refused: approximations were not asked for: nvvm{approx=true}
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
func.func @vector(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.exp %x : vector<4xf32>
  return %0 : vector<4xf32>
}
func.func @half(%x: f16) -> f16 {
  %0 = math.exp %x : f16
  return %0 : f16
}
func.func @double(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

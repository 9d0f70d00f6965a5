// An exponential that is a weight of a softmax: where approximations are asked for, without the instructions for denormal numbers.
// RUN: legato-opt %s --tir-legalize-intrinsics='target=nvvm{approx=true}' --tir-lower-intrinsics='target=nvvm{approx=true}' | filecheck %s
// RUN: legato-opt %s --tir-legalize-intrinsics=target=nvvm --tir-lower-intrinsics=target=nvvm | filecheck %s --check-prefix=EXACT

// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// EXACT: call @__nv_expf
func.func @weight(%x: f32) -> f32 {
  %0 = math.exp %x {tir.weighs} : f32
  return %0 : f32
}

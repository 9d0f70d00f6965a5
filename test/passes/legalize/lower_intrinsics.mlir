// RUN: legato-opt %s --split-input-file --tir-lower-intrinsics=target=nvvm | filecheck %s
// RUN: legato-opt %s --split-input-file --pass-pipeline='tir-lower-intrinsics{target=nvvm only-with-halves=true}' | filecheck %s --check-prefix=HALVES

// An intrinsic becomes the call of the device's library function; with only-with-halves, in a module that has half floats alone.
// CHECK-LABEL: func.func @wide(
// CHECK: call @__nv_expf(
// HALVES-LABEL: func.func @wide(
// HALVES: math.exp
func.func @wide(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// -----

// A rule that knows f32 takes half floats through it.
// CHECK-LABEL: func.func @half(
// CHECK: %[[X:.*]] = arith.extf
// CHECK: %[[Y:.*]] = call @__nv_expf(%[[X]])
// CHECK: arith.truncf %[[Y]]
// HALVES-LABEL: func.func @half(
// HALVES: call @__nv_expf(
func.func @half(%x: f16) -> f16 {
  %0 = math.exp %x : f16
  return %0 : f16
}

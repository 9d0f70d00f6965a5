// RUN: legato-opt %s --tir-forbid-contraction | filecheck %s

// CHECK: spirv.FAdd %{{.*}} {no_contraction} : f32
// CHECK: spirv.FSub %{{.*}} {no_contraction} : f32
// CHECK: spirv.IAdd %{{[^{]*}} : i32
spirv.module Logical GLSL450 {
  spirv.func @rounded(%x: f32, %i: i32) -> f32 "None" {
    %magic = spirv.Constant 12582912.0 : f32
    %0 = spirv.FAdd %x, %magic : f32
    %1 = spirv.FSub %0, %magic : f32
    %2 = spirv.IAdd %i, %i : i32
    spirv.ReturnValue %1 : f32
  }
}

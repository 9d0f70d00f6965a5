// erf: libdevice's on nvvm; a polynomial on vulkan, whose GLSL has none, and on CPUs' vectors. Upstream's conversions and its verifier take it from there.
// RUN: legato-opt %s --tir-legalize-intrinsics=target=nvvm --tir-lower-intrinsics=target=nvvm | filecheck %s --check-prefix=NVVM
// RUN: legato-opt %s --tir-legalize-intrinsics=target=llvm --tir-lower-intrinsics=target=llvm | filecheck %s --check-prefix=LLVM
// RUN: legato-opt %s --pass-pipeline='tir-legalize-intrinsics{target=vulkan},tir-lower-intrinsics{target=vulkan},convert-arith-to-spirv,convert-math-to-spirv,convert-vector-to-spirv,convert-func-to-spirv' --verify-each | filecheck %s --check-prefix=VULKAN

// NVVM: call @__nv_erff
// LLVM-NOT: @erff
// LLVM: math.fma {{.*}} : vector<16xf32>
// VULKAN: spirv.func @erf
// VULKAN-NOT: math.
// VULKAN: spirv.GL.Fma {{.*}} : vector<16xf32>
// VULKAN: spirv.ReturnValue
module attributes {spirv.target_env = #spirv.target_env<#spirv.vce<v1.5, [Shader, Vector16], []>, #spirv.resource_limits<>>} {
  func.func @erf(%x: vector<16xf32>) -> vector<16xf32> {
    %0 = math.erf %x : vector<16xf32>
    return %0 : vector<16xf32>
  }
}

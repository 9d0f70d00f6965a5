// RUN: legato-opt %s --tir-vulkan-memory-model | filecheck %s

// Accesses to shared memory are seen by others, and barriers show them; those to a thread's own memory are as they were. bf16 gets its type.
// CHECK-LABEL: spirv.module @matrices Logical Vulkan
// CHECK: spirv.func @kernel() "None" {
// CHECK: spirv.Store "Workgroup" %{{.*}}, %{{.*}} ["NonPrivatePointer"] : f16
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory|MakeAvailable|MakeVisible>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <RowMajor>, <NonPrivatePointer> : {{.*}} -> !spirv.coopmatrix<8x8xbf16, Subgroup, MatrixA>
// CHECK: spirv.KHR.CooperativeMatrixLoad %{{.*}}, <ColumnMajor>, <NonPrivatePointer> : {{.*}} -> !spirv.coopmatrix<8x8xbf16, Subgroup, MatrixB>
// CHECK: spirv.KHR.CooperativeMatrixMulAdd {{.*}} -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
// CHECK: spirv.Store "Function" %{{.*}}, %{{.*}} : f32
spirv.module @matrices Logical GLSL450 {
  spirv.GlobalVariable @tile : !spirv.ptr<!spirv.struct<(!spirv.array<64 x f16>)>, Workgroup>
  spirv.func @kernel() "None" attributes {tir.bf16_matrices} {
    %zero = spirv.Constant 0 : i32
    %eight = spirv.Constant 8 : i32
    %half = spirv.Constant 1.0 : f16
    %float = spirv.Constant 1.0 : f32
    %own = spirv.Variable : !spirv.ptr<f32, Function>
    %tile = spirv.mlir.addressof @tile : !spirv.ptr<!spirv.struct<(!spirv.array<64 x f16>)>, Workgroup>
    %p = spirv.AccessChain %tile[%zero, %zero] : !spirv.ptr<!spirv.struct<(!spirv.array<64 x f16>)>, Workgroup>, i32, i32 -> !spirv.ptr<f16, Workgroup>
    spirv.Store "Workgroup" %p, %half : f16
    spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
    %a = spirv.KHR.CooperativeMatrixLoad %p, %eight, <RowMajor> : !spirv.ptr<f16, Workgroup>, i32 -> !spirv.coopmatrix<8x8xf16, Subgroup, MatrixA>
    %b = spirv.KHR.CooperativeMatrixLoad %p, %eight, <ColumnMajor> : !spirv.ptr<f16, Workgroup>, i32 -> !spirv.coopmatrix<8x8xf16, Subgroup, MatrixB>
    %c = spirv.CompositeConstruct %float : (f32) -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    %d = spirv.KHR.CooperativeMatrixMulAdd %a, %b, %c : !spirv.coopmatrix<8x8xf16, Subgroup, MatrixA>, !spirv.coopmatrix<8x8xf16, Subgroup, MatrixB> -> !spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>
    spirv.Store "Function" %own, %float : f32
    spirv.Return
  }
}

// Modules without such matrices keep their model.
// CHECK-LABEL: spirv.module @others Logical GLSL450
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
spirv.module @others Logical GLSL450 {
  spirv.func @kernel() "None" {
    spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
    spirv.Return
  }
}

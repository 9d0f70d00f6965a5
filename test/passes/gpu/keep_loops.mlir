// RUN: legato-opt %s --tir-keep-loops | filecheck %s

// A long body stays as it is; a short one the driver may unroll.
// CHECK-LABEL: @long
// CHECK: spirv.mlir.loop control(DontUnroll) {
// CHECK-LABEL: @short
// CHECK: spirv.mlir.loop {
// Only unrolled is an array that the steps index in registers.
// CHECK-LABEL: @registers
// CHECK: spirv.mlir.loop {
spirv.module Logical GLSL450 {
  spirv.func @long(%a: f32, %n: i32) "None" {
    %zero = spirv.Constant 0 : i32
    %one = spirv.Constant 1 : i32
    %at = spirv.Variable init(%zero) : !spirv.ptr<i32, Function>
    %own = spirv.Variable : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, Function>
    spirv.mlir.loop {
      spirv.Branch ^header
    ^header:
      %i = spirv.Load "Function" %at : i32
      %more = spirv.SLessThan %i, %n : i32
      spirv.BranchConditional %more, ^body, ^merge
    ^body:
      %10 = spirv.FAdd %a, %a : f32
      %11 = spirv.FAdd %a, %a : f32
      %12 = spirv.FAdd %a, %a : f32
      %13 = spirv.FAdd %a, %a : f32
      %14 = spirv.FAdd %a, %a : f32
      %15 = spirv.FAdd %a, %a : f32
      %16 = spirv.FAdd %a, %a : f32
      %17 = spirv.FAdd %a, %a : f32
      %18 = spirv.FAdd %a, %a : f32
      %19 = spirv.FAdd %a, %a : f32
      %20 = spirv.FAdd %a, %a : f32
      %21 = spirv.FAdd %a, %a : f32
      %22 = spirv.FAdd %a, %a : f32
      %23 = spirv.FAdd %a, %a : f32
      %24 = spirv.FAdd %a, %a : f32
      %25 = spirv.FAdd %a, %a : f32
      %26 = spirv.FAdd %a, %a : f32
      %27 = spirv.FAdd %a, %a : f32
      %28 = spirv.FAdd %a, %a : f32
      %29 = spirv.FAdd %a, %a : f32
      %30 = spirv.FAdd %a, %a : f32
      %31 = spirv.FAdd %a, %a : f32
      %32 = spirv.FAdd %a, %a : f32
      %33 = spirv.FAdd %a, %a : f32
      %34 = spirv.FAdd %a, %a : f32
      %35 = spirv.FAdd %a, %a : f32
      %36 = spirv.FAdd %a, %a : f32
      %37 = spirv.FAdd %a, %a : f32
      %38 = spirv.FAdd %a, %a : f32
      %39 = spirv.FAdd %a, %a : f32
      %40 = spirv.FAdd %a, %a : f32
      %41 = spirv.FAdd %a, %a : f32
      %42 = spirv.FAdd %a, %a : f32
      %43 = spirv.FAdd %a, %a : f32
      %44 = spirv.FAdd %a, %a : f32
      %45 = spirv.FAdd %a, %a : f32
      %46 = spirv.FAdd %a, %a : f32
      %47 = spirv.FAdd %a, %a : f32
      %48 = spirv.FAdd %a, %a : f32
      %49 = spirv.FAdd %a, %a : f32
      %50 = spirv.FAdd %a, %a : f32
      %51 = spirv.FAdd %a, %a : f32
      %52 = spirv.FAdd %a, %a : f32
      %53 = spirv.FAdd %a, %a : f32
      %54 = spirv.FAdd %a, %a : f32
      %55 = spirv.FAdd %a, %a : f32
      %56 = spirv.FAdd %a, %a : f32
      %57 = spirv.FAdd %a, %a : f32
      %58 = spirv.FAdd %a, %a : f32
      %59 = spirv.FAdd %a, %a : f32
      %60 = spirv.FAdd %a, %a : f32
      %61 = spirv.FAdd %a, %a : f32
      %62 = spirv.FAdd %a, %a : f32
      %63 = spirv.FAdd %a, %a : f32
      %64 = spirv.FAdd %a, %a : f32
      %65 = spirv.FAdd %a, %a : f32
      %66 = spirv.FAdd %a, %a : f32
      %67 = spirv.FAdd %a, %a : f32
      %68 = spirv.FAdd %a, %a : f32
      %69 = spirv.FAdd %a, %a : f32
      %70 = spirv.FAdd %a, %a : f32
      %71 = spirv.FAdd %a, %a : f32
      %72 = spirv.FAdd %a, %a : f32
      %73 = spirv.FAdd %a, %a : f32
      %74 = spirv.FAdd %a, %a : f32
      %75 = spirv.FAdd %a, %a : f32
      %76 = spirv.FAdd %a, %a : f32
      %77 = spirv.FAdd %a, %a : f32
      %78 = spirv.FAdd %a, %a : f32
      %79 = spirv.FAdd %a, %a : f32
      %80 = spirv.FAdd %a, %a : f32
      %81 = spirv.FAdd %a, %a : f32
      %82 = spirv.FAdd %a, %a : f32
      %83 = spirv.FAdd %a, %a : f32
      %84 = spirv.FAdd %a, %a : f32
      %85 = spirv.FAdd %a, %a : f32
      %86 = spirv.FAdd %a, %a : f32
      %87 = spirv.FAdd %a, %a : f32
      %88 = spirv.FAdd %a, %a : f32
      %89 = spirv.FAdd %a, %a : f32
      %90 = spirv.FAdd %a, %a : f32
      %91 = spirv.FAdd %a, %a : f32
      %92 = spirv.FAdd %a, %a : f32
      %93 = spirv.FAdd %a, %a : f32
      %94 = spirv.FAdd %a, %a : f32
      %95 = spirv.FAdd %a, %a : f32
      %96 = spirv.FAdd %a, %a : f32
      %97 = spirv.FAdd %a, %a : f32
      %98 = spirv.FAdd %a, %a : f32
      %99 = spirv.FAdd %a, %a : f32
      %100 = spirv.FAdd %a, %a : f32
      %101 = spirv.FAdd %a, %a : f32
      %102 = spirv.FAdd %a, %a : f32
      %103 = spirv.FAdd %a, %a : f32
      %104 = spirv.FAdd %a, %a : f32
      %105 = spirv.FAdd %a, %a : f32
      %106 = spirv.FAdd %a, %a : f32
      %107 = spirv.FAdd %a, %a : f32
      %108 = spirv.FAdd %a, %a : f32
      %109 = spirv.FAdd %a, %a : f32
      %110 = spirv.FAdd %a, %a : f32
      %111 = spirv.FAdd %a, %a : f32
      %112 = spirv.FAdd %a, %a : f32
      %113 = spirv.FAdd %a, %a : f32
      %114 = spirv.FAdd %a, %a : f32
      %115 = spirv.FAdd %a, %a : f32
      %116 = spirv.FAdd %a, %a : f32
      %117 = spirv.FAdd %a, %a : f32
      %118 = spirv.FAdd %a, %a : f32
      %119 = spirv.FAdd %a, %a : f32
      %120 = spirv.FAdd %a, %a : f32
      %121 = spirv.FAdd %a, %a : f32
      %122 = spirv.FAdd %a, %a : f32
      %123 = spirv.FAdd %a, %a : f32
      %124 = spirv.FAdd %a, %a : f32
      %125 = spirv.FAdd %a, %a : f32
      %126 = spirv.FAdd %a, %a : f32
      %127 = spirv.FAdd %a, %a : f32
      %128 = spirv.FAdd %a, %a : f32
      %129 = spirv.FAdd %a, %a : f32
      %130 = spirv.FAdd %a, %a : f32
      %131 = spirv.FAdd %a, %a : f32
      %132 = spirv.FAdd %a, %a : f32
      %133 = spirv.FAdd %a, %a : f32
      %element = spirv.AccessChain %own[%zero, %one] : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, Function>, i32, i32 -> !spirv.ptr<f32, Function>
      spirv.Store "Function" %element, %a : f32
      %next = spirv.IAdd %i, %one : i32
      spirv.Store "Function" %at, %next : i32
      spirv.Branch ^header
    ^merge:
      spirv.mlir.merge
    }
    spirv.Return
  }
  spirv.func @short(%a: f32, %n: i32) "None" {
    %zero = spirv.Constant 0 : i32
    %one = spirv.Constant 1 : i32
    %at = spirv.Variable init(%zero) : !spirv.ptr<i32, Function>
    spirv.mlir.loop {
      spirv.Branch ^header
    ^header:
      %i = spirv.Load "Function" %at : i32
      %more = spirv.SLessThan %i, %n : i32
      spirv.BranchConditional %more, ^body, ^merge
    ^body:
      %10 = spirv.FAdd %a, %a : f32
      %next = spirv.IAdd %i, %one : i32
      spirv.Store "Function" %at, %next : i32
      spirv.Branch ^header
    ^merge:
      spirv.mlir.merge
    }
    spirv.Return
  }
  spirv.func @registers(%a: f32, %n: i32) "None" {
    %zero = spirv.Constant 0 : i32
    %one = spirv.Constant 1 : i32
    %at = spirv.Variable init(%zero) : !spirv.ptr<i32, Function>
    %own = spirv.Variable : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, Function>
    spirv.mlir.loop {
      spirv.Branch ^header
    ^header:
      %i = spirv.Load "Function" %at : i32
      %more = spirv.SLessThan %i, %n : i32
      spirv.BranchConditional %more, ^body, ^merge
    ^body:
      %10 = spirv.FAdd %a, %a : f32
      %11 = spirv.FAdd %a, %a : f32
      %12 = spirv.FAdd %a, %a : f32
      %13 = spirv.FAdd %a, %a : f32
      %14 = spirv.FAdd %a, %a : f32
      %15 = spirv.FAdd %a, %a : f32
      %16 = spirv.FAdd %a, %a : f32
      %17 = spirv.FAdd %a, %a : f32
      %18 = spirv.FAdd %a, %a : f32
      %19 = spirv.FAdd %a, %a : f32
      %20 = spirv.FAdd %a, %a : f32
      %21 = spirv.FAdd %a, %a : f32
      %22 = spirv.FAdd %a, %a : f32
      %23 = spirv.FAdd %a, %a : f32
      %24 = spirv.FAdd %a, %a : f32
      %25 = spirv.FAdd %a, %a : f32
      %26 = spirv.FAdd %a, %a : f32
      %27 = spirv.FAdd %a, %a : f32
      %28 = spirv.FAdd %a, %a : f32
      %29 = spirv.FAdd %a, %a : f32
      %30 = spirv.FAdd %a, %a : f32
      %31 = spirv.FAdd %a, %a : f32
      %32 = spirv.FAdd %a, %a : f32
      %33 = spirv.FAdd %a, %a : f32
      %34 = spirv.FAdd %a, %a : f32
      %35 = spirv.FAdd %a, %a : f32
      %36 = spirv.FAdd %a, %a : f32
      %37 = spirv.FAdd %a, %a : f32
      %38 = spirv.FAdd %a, %a : f32
      %39 = spirv.FAdd %a, %a : f32
      %40 = spirv.FAdd %a, %a : f32
      %41 = spirv.FAdd %a, %a : f32
      %42 = spirv.FAdd %a, %a : f32
      %43 = spirv.FAdd %a, %a : f32
      %44 = spirv.FAdd %a, %a : f32
      %45 = spirv.FAdd %a, %a : f32
      %46 = spirv.FAdd %a, %a : f32
      %47 = spirv.FAdd %a, %a : f32
      %48 = spirv.FAdd %a, %a : f32
      %49 = spirv.FAdd %a, %a : f32
      %50 = spirv.FAdd %a, %a : f32
      %51 = spirv.FAdd %a, %a : f32
      %52 = spirv.FAdd %a, %a : f32
      %53 = spirv.FAdd %a, %a : f32
      %54 = spirv.FAdd %a, %a : f32
      %55 = spirv.FAdd %a, %a : f32
      %56 = spirv.FAdd %a, %a : f32
      %57 = spirv.FAdd %a, %a : f32
      %58 = spirv.FAdd %a, %a : f32
      %59 = spirv.FAdd %a, %a : f32
      %60 = spirv.FAdd %a, %a : f32
      %61 = spirv.FAdd %a, %a : f32
      %62 = spirv.FAdd %a, %a : f32
      %63 = spirv.FAdd %a, %a : f32
      %64 = spirv.FAdd %a, %a : f32
      %65 = spirv.FAdd %a, %a : f32
      %66 = spirv.FAdd %a, %a : f32
      %67 = spirv.FAdd %a, %a : f32
      %68 = spirv.FAdd %a, %a : f32
      %69 = spirv.FAdd %a, %a : f32
      %70 = spirv.FAdd %a, %a : f32
      %71 = spirv.FAdd %a, %a : f32
      %72 = spirv.FAdd %a, %a : f32
      %73 = spirv.FAdd %a, %a : f32
      %74 = spirv.FAdd %a, %a : f32
      %75 = spirv.FAdd %a, %a : f32
      %76 = spirv.FAdd %a, %a : f32
      %77 = spirv.FAdd %a, %a : f32
      %78 = spirv.FAdd %a, %a : f32
      %79 = spirv.FAdd %a, %a : f32
      %80 = spirv.FAdd %a, %a : f32
      %81 = spirv.FAdd %a, %a : f32
      %82 = spirv.FAdd %a, %a : f32
      %83 = spirv.FAdd %a, %a : f32
      %84 = spirv.FAdd %a, %a : f32
      %85 = spirv.FAdd %a, %a : f32
      %86 = spirv.FAdd %a, %a : f32
      %87 = spirv.FAdd %a, %a : f32
      %88 = spirv.FAdd %a, %a : f32
      %89 = spirv.FAdd %a, %a : f32
      %90 = spirv.FAdd %a, %a : f32
      %91 = spirv.FAdd %a, %a : f32
      %92 = spirv.FAdd %a, %a : f32
      %93 = spirv.FAdd %a, %a : f32
      %94 = spirv.FAdd %a, %a : f32
      %95 = spirv.FAdd %a, %a : f32
      %96 = spirv.FAdd %a, %a : f32
      %97 = spirv.FAdd %a, %a : f32
      %98 = spirv.FAdd %a, %a : f32
      %99 = spirv.FAdd %a, %a : f32
      %100 = spirv.FAdd %a, %a : f32
      %101 = spirv.FAdd %a, %a : f32
      %102 = spirv.FAdd %a, %a : f32
      %103 = spirv.FAdd %a, %a : f32
      %104 = spirv.FAdd %a, %a : f32
      %105 = spirv.FAdd %a, %a : f32
      %106 = spirv.FAdd %a, %a : f32
      %107 = spirv.FAdd %a, %a : f32
      %108 = spirv.FAdd %a, %a : f32
      %109 = spirv.FAdd %a, %a : f32
      %110 = spirv.FAdd %a, %a : f32
      %111 = spirv.FAdd %a, %a : f32
      %112 = spirv.FAdd %a, %a : f32
      %113 = spirv.FAdd %a, %a : f32
      %114 = spirv.FAdd %a, %a : f32
      %115 = spirv.FAdd %a, %a : f32
      %116 = spirv.FAdd %a, %a : f32
      %117 = spirv.FAdd %a, %a : f32
      %118 = spirv.FAdd %a, %a : f32
      %119 = spirv.FAdd %a, %a : f32
      %120 = spirv.FAdd %a, %a : f32
      %121 = spirv.FAdd %a, %a : f32
      %122 = spirv.FAdd %a, %a : f32
      %123 = spirv.FAdd %a, %a : f32
      %124 = spirv.FAdd %a, %a : f32
      %125 = spirv.FAdd %a, %a : f32
      %126 = spirv.FAdd %a, %a : f32
      %127 = spirv.FAdd %a, %a : f32
      %128 = spirv.FAdd %a, %a : f32
      %129 = spirv.FAdd %a, %a : f32
      %130 = spirv.FAdd %a, %a : f32
      %131 = spirv.FAdd %a, %a : f32
      %132 = spirv.FAdd %a, %a : f32
      %133 = spirv.FAdd %a, %a : f32
      %element = spirv.AccessChain %own[%zero, %i] : !spirv.ptr<!spirv.struct<(!spirv.array<4 x f32, stride=4> [0])>, Function>, i32, i32 -> !spirv.ptr<f32, Function>
      spirv.Store "Function" %element, %a : f32
      %next = spirv.IAdd %i, %one : i32
      spirv.Store "Function" %at, %next : i32
      spirv.Branch ^header
    ^merge:
      spirv.mlir.merge
    }
    spirv.Return
  }
}

// Loops that wait at an mbarrier, or multiply matrices, stay as they are; others LLVM may unroll.
// CHECK-LABEL: llvm.func @copies
// CHECK: llvm.br ^{{.*}} {loop_annotation =
// CHECK: llvm.br ^bb{{[0-9]+}}(%{{[^)]*}})
// CHECK-NOT: loop_annotation
llvm.func @copies(%n: i64, %bar: !llvm.ptr<3>) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^first(%c0 : i64)
^first(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^wait, ^second(%c0 : i64)
^wait:
  llvm.inline_asm has_side_effects asm_dialect = att "mbarrier.try_wait.parity.b64 P1, [$0], 0;", "r" %bar : (!llvm.ptr<3>) -> ()
  %next = llvm.add %i, %c1 : i64
  llvm.br ^first(%next : i64)
^second(%j: i64):
  %again = llvm.icmp "slt" %j, %n : i64
  llvm.cond_br %again, ^body, ^end
^body:
  %after = llvm.add %j, %c1 : i64
  llvm.br ^second(%after : i64)
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @products
// CHECK: llvm.br ^{{.*}} {loop_annotation =
llvm.func @products(%n: i64, %a: vector<2xf16>, %c: vector<2xf16>) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^first(%c0 : i64)
^first(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %0 = nvvm.mma.sync A[%a, %a, %a, %a] B[%a, %a] C[%c, %c] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  %next = llvm.add %i, %c1 : i64
  llvm.br ^first(%next : i64)
^end:
  llvm.return
}

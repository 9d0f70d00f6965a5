// RUN: legato-opt %s --load %S/inputs/prepare.py --tir-prepare=target=npu | filecheck %s
// RUN: legato-opt %s --tir-prepare=target=llvm | filecheck %s --check-prefix=NONE
// RUN: legato-compile --print-pipeline=fused --load %S/inputs/prepare.py --target npu | filecheck %s --check-prefix=STAGE

// A user's target may prepare kernels by a function, in the place of the passes of CPUs.
// CHECK: func.func private @kernel
// CHECK-SAME: test.vector_bits = 256 : index
// NONE-NOT: test.vector_bits
// STAGE: tir-collapse-dims,
// STAGE-NEXT: func.func(canonicalize),
// STAGE-NEXT: func.func(cse),
// STAGE-NEXT: tir-prepare{target=npu{cpu=x86-64-v3 threads=1 fuse-attention=true integer-contractions=true winograd=true strassen=true}},
// STAGE-NEXT: tir-count-work
func.func private @kernel(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out, bufferization.writable = true}) -> tensor<4xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

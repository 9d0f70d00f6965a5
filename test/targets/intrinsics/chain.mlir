// The fallback chain by target: the nearest rule, else the next; none is an error that names the op, the target and the chain.
// RUN: legato-opt %s --split-input-file --load %S/inputs/chain.py --tir-lower-intrinsics=target=nvvm --verify-diagnostics
// RUN: not legato-opt %s --split-input-file --load %S/inputs/chain.py --tir-lower-intrinsics=target=nvvm 2>&1 | filecheck %s --check-prefix=NVVM
// RUN: not legato-opt %s --split-input-file --load %S/inputs/chain.py --tir-lower-intrinsics=target=vulkan 2>&1 | filecheck %s --check-prefix=VULKAN
// RUN: not legato-opt %s --split-input-file --load %S/inputs/chain.py --tir-lower-intrinsics=target=llvm 2>&1 | filecheck %s --check-prefix=LLVM

// expected-error@unknown {{tir-lower-intrinsics: 1 op(s) have no lowering for target}}

// NVVM: toy.lost 'layer1': gpu/never refused: the moon is not full
// NVVM-DAG: call @nvvm_near
// NVVM-DAG: call @generic_far
// VULKAN: 1 op(s) have no lowering for target 'vulkan' (vulkan -> gpu -> generic)
// VULKAN-DAG: call @gpu_near
// VULKAN-DAG: call @generic_far
// LLVM: toy.lost 'layer1': no rule on llvm -> cpu -> generic
// LLVM: call @generic_near
func.func @lost(%x: f32) -> f32 {
  %0 = "toy.lost"(%x) : (f32) -> f32 loc("layer1")
  return %0 : f32
}

// -----

func.func @found(%x: f32) -> (f32, f32) {
  %0 = "toy.near"(%x) : (f32) -> f32
  %1 = "toy.far"(%x) : (f32) -> f32
  return %0, %1 : f32, f32
}

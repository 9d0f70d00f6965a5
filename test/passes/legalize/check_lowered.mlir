// RUN: not legato-opt %s --tir-check-lowered --reproducer=none 2>&1 | filecheck %s
// RUN: legato-opt %s --tir-check-lowered=to=nvvm

// What has no lowering is named: translation to LLVM IR would crash on it. For nvvm, host code may be in any dialect.
// CHECK: tir-check-lowered failed on arith.addi: arith.addi has no lowering to LLVM
func.func @main(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  return %0 : i32
}

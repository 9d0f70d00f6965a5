// A pass that fails inside an external module says in which.
// RUN: not legato-opt %s --reproducer=%t.mlir --load %S/../../tools/inputs/passes.py --pass-pipeline='external(toy-reject)' 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=FILE < %t.mlir

// CHECK: :12:10: error: toy-reject failed in the external module @npu on arith.addi: this op is not welcome
// The reproducer is that module alone, an ordinary one.
// FILE: // pipeline: toy-reject
// FILE: module @npu attributes {relax.codegen = "npu"}
// FILE-NOT: @host
module @npu attributes {relax.codegen = "npu"} {
  func.func @f(%x: i32) -> i32 {
    %0 = arith.addi %x, %x : i32
    return %0 : i32
  }
}
func.func @host() { return }

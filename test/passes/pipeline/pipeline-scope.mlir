// Passes leave external modules alone; external(...) opens them, of one backend or of all.
// RUN: legato-opt %s --canonicalize --symbol-dce --inline | filecheck %s
// RUN: legato-opt %s --pass-pipeline='external<"npu">(canonicalize),func.func(cse)' | filecheck %s --check-prefix=NPU
// RUN: legato-opt %s --pass-pipeline='external(func.func(canonicalize),cse)' | filecheck %s --check-prefix=ALL
// RUN: legato-opt %s --pass-pipeline='external<"gpu">(cse)' 2>&1 | filecheck %s --check-prefix=NONE

// The host's constants go; what is external stays where it was, dead code and all.
// CHECK-LABEL: func.func @first()
// CHECK-NEXT: return
// CHECK: module @npu attributes {relax.codegen = "npu"} {
// CHECK-NEXT: func.func private @dead
// CHECK: arith.constant
// CHECK-LABEL: func.func @second()
// CHECK-NEXT: return
// CHECK: module @ort
// CHECK: arith.constant
// CHECK-NOT: @unused

// NPU-LABEL: @first
// NPU-NOT: arith.constant
// NPU-LABEL: @second
// NPU-NOT: arith.constant
// NPU: module @ort
// NPU: arith.constant

// ALL-LABEL: @first
// ALL: arith.constant
// ALL: module @npu
// ALL-NOT: arith.constant
// ALL-LABEL: @second
// ALL: arith.constant
// ALL: module @ort
// ALL-NOT: arith.constant

// NONE: legato-opt: warning: external<"gpu">(...) had nothing to work on: the external modules are for npu, ort
func.func @first() {
  %c = arith.constant 1 : i32
  return
}
module @npu attributes {relax.codegen = "npu"} {
  func.func private @dead() {
    %c = arith.constant 2 : i32
    return
  }
}
func.func @second() {
  %c = arith.constant 3 : i32
  return
}
module @ort attributes {relax.codegen = "ort"} {
  func.func @g() {
    %c = arith.constant 4 : i32
    return
  }
}
func.func private @unused()

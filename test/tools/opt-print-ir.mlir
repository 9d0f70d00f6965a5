// The IR before and after passes, on standard error; also with mlir-opt's names of the options, and inside external modules.
// RUN: legato-opt %s --canonicalize --cse --print-ir-before=canonicalize --print-ir-after=cse 2>&1 >/dev/null | filecheck %s
// RUN: legato-opt %s --canonicalize --cse --mlir-print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix=ALL
// RUN: legato-opt %s --canonicalize --cse --print-ir-before-all 2>&1 >/dev/null | filecheck %s --check-prefix=BEFORE
// RUN: legato-opt %s --pass-pipeline='external(cse)' --print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix=EXTERNAL

// CHECK: // -----// IR Dump Before canonicalize //----- //
// CHECK: arith.constant
// CHECK-NOT: canonicalize
// CHECK: // -----// IR Dump After cse //----- //
// CHECK-NOT: arith.constant
// CHECK-NOT: IR Dump
// ALL: IR Dump After canonicalize
// ALL: IR Dump After cse
// BEFORE: IR Dump Before canonicalize
// BEFORE: IR Dump Before cse
// EXTERNAL: IR Dump After cse (external module @npu) //----- //
// EXTERNAL-NEXT: module @npu attributes {relax.codegen = "npu"} {
// EXTERNAL-NOT: @host
func.func @host() {
  %c = arith.constant 1 : i32
  return
}
module @npu attributes {relax.codegen = "npu"} {
}

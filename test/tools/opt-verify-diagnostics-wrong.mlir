// What was expected and not said, and what was said and not expected.
// RUN: not legato-opt %s --split-input-file --verify-diagnostics --load %S/inputs/passes.py --toy-reject 2>&1 | filecheck %s

// CHECK: opt-verify-diagnostics-wrong.mlir:7:8: error: unexpected error: this op is not welcome
func.func @f(%x: i32) -> i32 {
  // CHECK: opt-verify-diagnostics-wrong.mlir:8: error: expected warning "this op" on line 7 was not produced
  %0 = arith.addi %x, %x : i32
  // expected-warning@-1 {{this op}}
  return %0 : i32
}

// -----

// CHECK: opt-verify-diagnostics-wrong.mlir:15: error: expected error "this op" on line 16 was not produced
// expected-error@+1 {{this op}}
func.func @g() { return }

// -----

// CHECK: opt-verify-diagnostics-wrong.mlir:23: error: expected error "quite another text" on line 22 was not produced
func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  // expected-error@above {{quite another text}}
  return %0 : i32
}

// Errors of the parser, of verifiers and of passes, against comments.
// RUN: legato-opt %s --split-input-file --verify-diagnostics --load %S/inputs/passes.py --toy-reject | filecheck %s
// CHECK: func.func @accepted

func.func @parse() -> i32 {
  // expected-error@+1 {{use of undeclared SSA value name}}
  return %x : i32
}

// -----

func.func @verify(%x: i32) -> i64 {
  return %x : i32  // expected-error {{type of return operand 0 ('i32') doesn't match function result type ('i64')}}
}

// -----

func.func @pass(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  // expected-error@above {{this op is not welcome}}
  return %0 : i32
}

// -----

func.func @pattern(%x: i32) -> i32 {
  // expected-error-re@below {{this {{[a-z]+}} is not}}
  %0 = arith.addi %x, %x : i32
  return %0 : i32
}

// -----

// expected-note@+1 {{see existing symbol definition here}}
func.func @twice() { return }
// expected-error@+1 {{redefinition of symbol named 'twice'}}
func.func @twice() { return }

// -----

// expected-error@unknown {{the weight 'nowhere' is missing}}
func.func @weight() {
  %0 = "relax.constant"() {weight = "nowhere"} : () -> tensor<2xf32>
  return
}

// -----

func.func @accepted() { return }

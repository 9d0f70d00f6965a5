// Invalid IR is found at the end of the pipeline, with --verify-each after the pass that made it.
// RUN: not legato-opt %s --reproducer=none --load %S/inputs/passes.py --toy-reject='op=arith.constant how=invalid' --toy-mark 2>&1 | filecheck %s
// RUN: not legato-opt %s --reproducer=none --load %S/inputs/passes.py --toy-reject='op=arith.constant how=invalid' --toy-mark --verify-each 2>&1 \
// RUN:   | filecheck %s --check-prefix=EACH

// CHECK: opt-verify-each.mlir:10:8: error: the pipeline failed: it left IR that is not valid (verify_each, or --verify-each, tells after which pass): 'arith.constant' op
// EACH: opt-verify-each.mlir:10:8: error: toy-reject failed: it left IR that is not valid: 'arith.constant' op
func.func @f() -> i32 {

  %c = arith.constant 1 : i32
  return %c : i32
}

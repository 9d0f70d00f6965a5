// Remarks of passes: told, and compared with comments.
// RUN: legato-opt %s --transform-interpreter --verify-diagnostics
// RUN: legato-opt %s --transform-interpreter 2>&1 >/dev/null | filecheck %s
// CHECK: opt-verify-diagnostics-remark.mlir:13:10: remark: found it
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%r: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["arith.addi"]} in %r : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %0, "found it" : !transform.any_op
    transform.yield
  }
  func.func @f(%x: i32) -> i32 {
    // expected-remark@+1 {{found it}}
    %0 = arith.addi %x, %x : i32
    return %0 : i32
  }
}

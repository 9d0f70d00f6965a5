// The dialects and passes of a user's file; a file may be given more than once, and bring nothing.
// RUN: legato-opt %s --load %S/inputs/passes.py --toy-mark | filecheck %s
// RUN: not legato-opt %s 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: legato-opt %s --allow-unregistered-dialect | filecheck %s --check-prefix=ALLOWED

// CHECK: func.func @f() attributes {toy.mark = "seen"}
// CHECK: "toy.nop"() : () -> ()
// WITHOUT: opt-load.mlir:13:12: error: operation being parsed with an unregistered dialect. Import the Python module that defines the dialect first (--load
// WITHOUT-NEXT: "toy.nop"() : () -> ()
// WITHOUT-NEXT: {{^}}           ^
// ALLOWED: "toy.nop"()
func.func @f() {
  "toy.nop"() : () -> ()
  return
}

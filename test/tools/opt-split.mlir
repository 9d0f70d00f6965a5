// Parts are files of their own; line numbers stay those of the file; a part that fails does not stop the others.
// RUN: not legato-opt %s --split-input-file --canonicalize > %t 2> %t.errors
// RUN: filecheck %s < %t
// RUN: filecheck %s --check-prefix=ERROR < %t.errors

// CHECK: module {
// CHECK-NEXT: func.func @f
// CHECK: // -----
// CHECK-NEXT: module {
// CHECK-NEXT: func.func @f
// CHECK-NOT: func.func
func.func @f() { return }

// -----

func.func @f() { return }

// -----

// ERROR: opt-split.mlir:22:3: error: custom op 'nosuch' is unknown
func.func @g() {
  nosuch
}

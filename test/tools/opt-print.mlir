// Parse, verify, print: from a file, from standard input, in generic form, with locations.
// RUN: legato-opt %s | filecheck %s
// RUN: legato-opt < %s | filecheck %s
// RUN: legato-opt - --mlir-print-op-generic --verify-roundtrip < %s | filecheck %s --check-prefix=GENERIC
// RUN: legato-opt %s --mlir-print-debuginfo --verify-roundtrip | filecheck %s --check-prefix=LOC

// CHECK-LABEL: func.func @f
// CHECK: %[[SUM:.*]] = arith.addi %arg0, %arg0 : i32
// CHECK: return %[[SUM]] : i32
// GENERIC: "func.func"() <{function_type = (i32) -> i32, sym_name = "f"}> ({
// GENERIC: "arith.addi"
// LOC: arith.addi {{.*}} loc(#[[LOC:.*]])
// LOC: #[[LOC]] = loc("Add_0")
func.func @f(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32 loc("Add_0")
  return %0 : i32
}

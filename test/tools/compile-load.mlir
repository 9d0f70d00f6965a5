// The rules and targets of a user's file, in the tools that compile.
// RUN: legato-compile %s --load %S/inputs/rules.py --target npu --emit legalized -q | filecheck %s
// RUN: not legato-compile %s --load %S/inputs/target.py --target abacus --emit legalized -q 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not legato-compile %s --target npu --emit legalized -q 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: legato-run %s --load %S/inputs/rules.py --target npu --random -q | filecheck %s --check-prefix=RAN

// CHECK-NOT: math.exp
// CHECK: arith.addf
// VALUE: has no stage
// UNKNOWN: unknown target 'npu'
// RAN: float32[4, 8]
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}) -> (tensor<4x8xf32> {relax.name = "y"}) {
  %0 = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

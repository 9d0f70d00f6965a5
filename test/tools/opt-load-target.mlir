// A target of a user's file, in a pass's option.
// RUN: legato-opt %s --load %S/inputs/target.py --relax-legalize='target=abacus{beads=7}' | filecheck %s
// RUN: not legato-opt %s --load %S/inputs/target.py --relax-legalize='target=abacus{wires=7}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not legato-opt %s --relax-legalize=target=abacus 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: call @{{.*}}exp
// CHECK: tir.prim_func
// OPTION: target 'abacus' has no option 'wires'
// UNKNOWN: unknown target 'abacus'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// RUN: legato-opt %s --emit=script | filecheck %s
// RUN: not legato-opt %s --emit=python 2>&1 | filecheck %s --check-prefix=USAGE
// USAGE: --emit takes mlir, script, irdl, not "python"

// CHECK: @I.ir_module
// CHECK-NEXT: class Module:
// CHECK-NEXT: @R.function
// CHECK-NEXT: def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
// CHECK-NEXT: y = R.softmax(x, axis=1)
// CHECK-NEXT: return y
func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> (tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "y"}) {
  %0 = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// RUN: legato-opt %s | filecheck %s

// CHECK-LABEL: @arange(
// CHECK: "relax.arange"(%arg0, %arg1) {shape = #relax.dims<["n + 1"]>} : (tensor<i64>, tensor<i64>) -> tensor<?xi64, #relax.dims<["n + 1"]>>
func.func @arange(%arg0: tensor<i64>, %arg1: tensor<i64>, %arg2: tensor<?xi64, #relax.dims<["n"]>>) -> tensor<?xi64, #relax.dims<["n + 1"]>> {
  %0 = "relax.arange"(%arg0, %arg1) {shape = #relax.dims<["n + 1"]>} : (tensor<i64>, tensor<i64>) -> tensor<?xi64, #relax.dims<["n + 1"]>>
  return %0 : tensor<?xi64, #relax.dims<["n + 1"]>>
}

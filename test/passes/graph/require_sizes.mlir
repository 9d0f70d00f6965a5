// RUN: legato-opt %s --relax-require-sizes | filecheck %s
// What is only known at a call: a symbolic end of a slice within its axis, sizes that are not below 0.

// CHECK-LABEL: func.func @main
// CHECK-SAME: relax.requires = [
// CHECK-SAME: ["20 - n", "relax.strided_slice \22positions\22 needs n <= 20"]
// CHECK-SAME: ["n - 2", "relax.pad \22inner\22 has a dimension of n - 2, which needs n - 2 >= 0"]
func.func @main(%x: tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> (tensor<?x?xf32, #relax.dims<["n", "n"]>>, tensor<20x?xf32, #relax.dims<[20, "n - 2"]>>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<["n"]>, axes = array<i64: 0>} : (tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> tensor<?x?xf32, #relax.dims<["n", "n"]>> loc("positions")
  %1 = "relax.pad"(%x) {pads = array<i64: 0, -1, 0, -1>} : (tensor<20x?xf32, #relax.dims<[20, "n"]>>) -> tensor<20x?xf32, #relax.dims<[20, "n - 2"]>> loc("inner")
  return %0, %1 : tensor<?x?xf32, #relax.dims<["n", "n"]>>, tensor<20x?xf32, #relax.dims<[20, "n - 2"]>>
}

// RUN: legato-opt %s | filecheck %s

// CHECK-LABEL: @col2im(
// CHECK: "relax.col2im"(%arg0) {dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, size = #relax.dims<["h", "w"]>, strides = array<i64: 1, 1>}
func.func @col2im(%x: tensor<?x8x3x3x?x?xf32, #relax.dims<["n", 8, 3, 3, "h", "w"]>>) -> tensor<?x8x?x?xf32, #relax.dims<["n", 8, "h", "w"]>> {
  %0 = "relax.col2im"(%x) {size = #relax.dims<["h", "w"]>, strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
    : (tensor<?x8x3x3x?x?xf32, #relax.dims<["n", 8, 3, 3, "h", "w"]>>) -> tensor<?x8x?x?xf32, #relax.dims<["n", 8, "h", "w"]>>
  return %0 : tensor<?x8x?x?xf32, #relax.dims<["n", 8, "h", "w"]>>
}

// RUN: legato-opt %s | legato-opt | filecheck %s

// CHECK: "relax.nonzero"(%arg0) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
func.func @nonzero(%x: tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>> {
  %0 = "relax.nonzero"(%x) {size = "m"} : (tensor<4x5xf32>) -> tensor<2x?xi64, #relax.dims<[2, "m"]>>
  return %0 : tensor<2x?xi64, #relax.dims<[2, "m"]>>
}

// CHECK-LABEL: @size_of(
// CHECK: "relax.size_of"(%arg0) {sizes = #relax.dims<["h", "w"]>} : (tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
func.func @size_of(%arg0: tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>> {
  %0 = "relax.size_of"(%arg0) {sizes = #relax.dims<["h", "w"]>} : (tensor<2xi64>) -> tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
  return %0 : tensor<?x?x0xi8, #relax.dims<["h", "w", 0]>>
}

// CHECK-LABEL: @name_sizes(
// CHECK: "relax.name_sizes"(%arg0) {sizes = #relax.dims<["m", 4]>} : (tensor<?x4xf32>) -> tensor<?x4xf32, #relax.dims<["m", 4]>>
func.func @name_sizes(%arg0: tensor<?x4xf32>) -> tensor<?x4xf32, #relax.dims<["m", 4]>> {
  %0 = "relax.name_sizes"(%arg0) {sizes = #relax.dims<["m", 4]>} : (tensor<?x4xf32>) -> tensor<?x4xf32, #relax.dims<["m", 4]>>
  return %0 : tensor<?x4xf32, #relax.dims<["m", 4]>>
}

// RUN: legato-opt %s --relax-repeat-elements | filecheck %s

// The last two axes of an image, of which each element is repeated: one broadcast.
// CHECK-LABEL: func.func @image
// CHECK: %[[U:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<["n", 4, 3, 1, 5, 1]>}
// CHECK: %[[B:.*]] = "relax.broadcast_to"(%[[U]]) {shape = #relax.dims<["n", 4, 3, 2, 5, 3]>}
// CHECK: %[[R:.*]] = "relax.reshape"(%[[B]]) {shape = #relax.dims<["n", 4, 6, 15]>}
// CHECK: return %[[R]]
func.func @image(%x: tensor<?x4x3x5xf32, #relax.dims<["n", 4, 3, 5]>>) -> tensor<?x4x6x15xf32, #relax.dims<["n", 4, 6, 15]>> {
  %i = "relax.constant"() {value = dense<[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]> : tensor<15xi64>} : () -> tensor<15xi64>
  %j = "relax.constant"() {value = dense<[0, 0, 1, 1, 2, 2]> : tensor<6xi64>} : () -> tensor<6xi64>
  %0 = "relax.take"(%x, %i) {axis = -1 : i64} : (tensor<?x4x3x5xf32, #relax.dims<["n", 4, 3, 5]>>, tensor<15xi64>) -> tensor<?x4x3x15xf32, #relax.dims<["n", 4, 3, 15]>>
  %1 = "relax.take"(%0, %j) {axis = 2 : i64} : (tensor<?x4x3x15xf32, #relax.dims<["n", 4, 3, 15]>>, tensor<6xi64>) -> tensor<?x4x6x15xf32, #relax.dims<["n", 4, 6, 15]>>
  return %1 : tensor<?x4x6x15xf32, #relax.dims<["n", 4, 6, 15]>>
}

// Other places, rows that fill no vector, axes before these, and a first result that something else reads stay.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: relax.broadcast_to
func.func @kept(%x: tensor<4x3x5xf32>, %y: tensor<4x3x3xf32>) -> (tensor<4x6x5xf32>, tensor<4x6x6xf32>, tensor<8x3x10xf32>, tensor<4x6x10xf32>, tensor<4x3x10xf32>) {
  %i = "relax.constant"() {value = dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]> : tensor<10xi64>} : () -> tensor<10xi64>
  %j = "relax.constant"() {value = dense<[0, 0, 1, 1, 2, 2]> : tensor<6xi64>} : () -> tensor<6xi64>
  %k = "relax.constant"() {value = dense<[0, 0, 1, 2, 3]> : tensor<5xi64>} : () -> tensor<5xi64>
  %l = "relax.constant"() {value = dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi64>} : () -> tensor<8xi64>
  %0 = "relax.take"(%x, %k) {axis = 2 : i64} : (tensor<4x3x5xf32>, tensor<5xi64>) -> tensor<4x3x5xf32>
  %1 = "relax.take"(%0, %j) {axis = 1 : i64} : (tensor<4x3x5xf32>, tensor<6xi64>) -> tensor<4x6x5xf32>
  %2 = "relax.take"(%y, %j) {axis = 2 : i64} : (tensor<4x3x3xf32>, tensor<6xi64>) -> tensor<4x3x6xf32>
  %3 = "relax.take"(%2, %j) {axis = 1 : i64} : (tensor<4x3x6xf32>, tensor<6xi64>) -> tensor<4x6x6xf32>
  %4 = "relax.take"(%x, %i) {axis = 2 : i64} : (tensor<4x3x5xf32>, tensor<10xi64>) -> tensor<4x3x10xf32>
  %5 = "relax.take"(%4, %l) {axis = 0 : i64} : (tensor<4x3x10xf32>, tensor<8xi64>) -> tensor<8x3x10xf32>
  %6 = "relax.take"(%x, %i) {axis = 2 : i64} : (tensor<4x3x5xf32>, tensor<10xi64>) -> tensor<4x3x10xf32>
  %7 = "relax.take"(%6, %j) {axis = 1 : i64} : (tensor<4x3x10xf32>, tensor<6xi64>) -> tensor<4x6x10xf32>
  return %1, %3, %5, %7, %6 : tensor<4x6x5xf32>, tensor<4x6x6xf32>, tensor<8x3x10xf32>, tensor<4x6x10xf32>, tensor<4x3x10xf32>
}

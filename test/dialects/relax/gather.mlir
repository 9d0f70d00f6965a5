// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @take(
// CHECK: "relax.take"(%arg0, %arg1) {axis = -1 : i64} : (tensor<?x7xf32, #relax.dims<["n", 7]>>, tensor<?xi32, #relax.dims<["m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @take(%arg0: tensor<?x7xf32, #relax.dims<["n", 7]>>, %arg1: tensor<?xi32, #relax.dims<["m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.take"(%arg0, %arg1) {axis = -1 : i64} : (tensor<?x7xf32, #relax.dims<["n", 7]>>, tensor<?xi32, #relax.dims<["m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @take_2(
// CHECK: "relax.take"(%arg0, %arg1) : (tensor<5x?xf32, #relax.dims<[5, "n"]>>, tensor<?x4xi64, #relax.dims<["m", 4]>>) -> tensor<?x4x?xf32, #relax.dims<["m", 4, "n"]>>
func.func @take_2(%arg0: tensor<5x?xf32, #relax.dims<[5, "n"]>>, %arg1: tensor<?x4xi64, #relax.dims<["m", 4]>>) -> tensor<?x4x?xf32, #relax.dims<["m", 4, "n"]>> {
  %0 = "relax.take"(%arg0, %arg1) : (tensor<5x?xf32, #relax.dims<[5, "n"]>>, tensor<?x4xi64, #relax.dims<["m", 4]>>) -> tensor<?x4x?xf32, #relax.dims<["m", 4, "n"]>>
  return %0 : tensor<?x4x?xf32, #relax.dims<["m", 4, "n"]>>
}

// CHECK-LABEL: @gather_elements(
// CHECK: "relax.gather_elements"(%arg0, %arg1) {axis = 1 : i64} : (tensor<?x7xf32, #relax.dims<["n", 7]>>, tensor<?x?xi64, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @gather_elements(%arg0: tensor<?x7xf32, #relax.dims<["n", 7]>>, %arg1: tensor<?x?xi64, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.gather_elements"(%arg0, %arg1) {axis = 1 : i64} : (tensor<?x7xf32, #relax.dims<["n", 7]>>, tensor<?x?xi64, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @gather_nd(
// CHECK: "relax.gather_nd"(%arg0, %arg1) {batch_dims = 1 : i64} : (tensor<?x7x?xf32, #relax.dims<["n", 7, "m"]>>, tensor<?x4x1xi64, #relax.dims<["n", 4, 1]>>) -> tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>>
func.func @gather_nd(%arg0: tensor<?x7x?xf32, #relax.dims<["n", 7, "m"]>>, %arg1: tensor<?x4x1xi64, #relax.dims<["n", 4, 1]>>) -> tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>> {
  %0 = "relax.gather_nd"(%arg0, %arg1) {batch_dims = 1 : i64} : (tensor<?x7x?xf32, #relax.dims<["n", 7, "m"]>>, tensor<?x4x1xi64, #relax.dims<["n", 4, 1]>>) -> tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>>
  return %0 : tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>>
}

// CHECK-LABEL: @gather_nd_2(
// CHECK: "relax.gather_nd"(%arg0, %arg1) : (tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>, tensor<4x2xi64>) -> tensor<4x?xf32, #relax.dims<[4, "m"]>>
func.func @gather_nd_2(%arg0: tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>, %arg1: tensor<4x2xi64>) -> tensor<4x?xf32, #relax.dims<[4, "m"]>> {
  %0 = "relax.gather_nd"(%arg0, %arg1) : (tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>, tensor<4x2xi64>) -> tensor<4x?xf32, #relax.dims<[4, "m"]>>
  return %0 : tensor<4x?xf32, #relax.dims<[4, "m"]>>
}

// CHECK-LABEL: @one_hot(
// CHECK: "relax.one_hot"(%arg0) {axis = 0 : i64, depth = 3 : i64, dtype = i32} : (tensor<?x?xi32, #relax.dims<["n", "m"]>>) -> tensor<3x?x?xi32, #relax.dims<[3, "n", "m"]>>
func.func @one_hot(%arg0: tensor<?x?xi32, #relax.dims<["n", "m"]>>) -> tensor<3x?x?xi32, #relax.dims<[3, "n", "m"]>> {
  %0 = "relax.one_hot"(%arg0) {axis = 0 : i64, depth = 3 : i64, dtype = i32} : (tensor<?x?xi32, #relax.dims<["n", "m"]>>) -> tensor<3x?x?xi32, #relax.dims<[3, "n", "m"]>>
  return %0 : tensor<3x?x?xi32, #relax.dims<[3, "n", "m"]>>
}

// CHECK-LABEL: @one_hot_by_default(
// CHECK: "relax.one_hot"(%arg0) {depth = 3 : i64} : (tensor<2xi64>) -> tensor<2x3xf32>
func.func @one_hot_by_default(%arg0: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = "relax.one_hot"(%arg0) {depth = 3 : i64} : (tensor<2xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @one_hot_2(
// CHECK: "relax.one_hot"(%arg0) {depth = 3 : i64, dtype = f32} : (tensor<?x?xi64, #relax.dims<["n", "m"]>>) -> tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>
func.func @one_hot_2(%arg0: tensor<?x?xi64, #relax.dims<["n", "m"]>>) -> tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>> {
  %0 = "relax.one_hot"(%arg0) {depth = 3 : i64, dtype = f32} : (tensor<?x?xi64, #relax.dims<["n", "m"]>>) -> tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>
  return %0 : tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>
}

// CHECK-LABEL: @scatter_elements(
// CHECK: "relax.scatter_elements"(%arg0, %arg1, %arg2) {axis = 1 : i64, reduction = "add"} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @scatter_elements(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>, %arg1: tensor<2x3xi64>, %arg2: tensor<2x3xf32>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.scatter_elements"(%arg0, %arg1, %arg2) {axis = 1 : i64, reduction = "add"} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @scatter_nd(
// CHECK: "relax.scatter_nd"(%arg0, %arg1, %arg2) {reduction = "add"} : (tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>, tensor<4x1xi64>, tensor<4x?x?xf32, #relax.dims<[4, "n", "m"]>>) -> tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>
func.func @scatter_nd(%arg0: tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>, %arg1: tensor<4x1xi64>, %arg2: tensor<4x?x?xf32, #relax.dims<[4, "n", "m"]>>) -> tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>> {
  %0 = "relax.scatter_nd"(%arg0, %arg1, %arg2) {reduction = "add"} : (tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>, tensor<4x1xi64>, tensor<4x?x?xf32, #relax.dims<[4, "n", "m"]>>) -> tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>
  return %0 : tensor<5x?x?xf32, #relax.dims<[5, "n", "m"]>>
}

// CHECK-LABEL: @scatter_nd_2(
// CHECK: "relax.scatter_nd"(%arg0, %arg1, %arg2) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>, tensor<1x2xi64>, tensor<1x3xf32>) -> tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>
func.func @scatter_nd_2(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>, %arg1: tensor<1x2xi64>, %arg2: tensor<1x3xf32>) -> tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>> {
  %0 = "relax.scatter_nd"(%arg0, %arg1, %arg2) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>, tensor<1x2xi64>, tensor<1x3xf32>) -> tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>
  return %0 : tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>
}

// CHECK-LABEL: @gather_weighted(
// CHECK: "relax.gather_weighted"(%arg0, %arg1, %arg2) : ({{.*}}) -> tensor<2x?x3xf32, #relax.dims<[2, "n", 3]>>
func.func @gather_weighted(%arg0: tensor<2x5x3xf32>, %arg1: tensor<2x4x?xi64, #relax.dims<[2, 4, "n"]>>, %arg2: tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x?x3xf32, #relax.dims<[2, "n", 3]>> {
  %0 = "relax.gather_weighted"(%arg0, %arg1, %arg2) : (tensor<2x5x3xf32>, tensor<2x4x?xi64, #relax.dims<[2, 4, "n"]>>, tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x?x3xf32, #relax.dims<[2, "n", 3]>>
  return %0 : tensor<2x?x3xf32, #relax.dims<[2, "n", 3]>>
}

// Taps of all batches.
// CHECK-LABEL: @gather_weighted_2(
// CHECK: "relax.gather_weighted"(%arg0, %arg1, %arg2) : ({{.*}}) -> tensor<?x6x3xf32, #relax.dims<["n", 6, 3]>>
func.func @gather_weighted_2(%arg0: tensor<?x5x3xf32, #relax.dims<["n", 5, 3]>>, %arg1: tensor<1x4x6xi64>, %arg2: tensor<1x4x6xf32>) -> tensor<?x6x3xf32, #relax.dims<["n", 6, 3]>> {
  %0 = "relax.gather_weighted"(%arg0, %arg1, %arg2) : (tensor<?x5x3xf32, #relax.dims<["n", 5, 3]>>, tensor<1x4x6xi64>, tensor<1x4x6xf32>) -> tensor<?x6x3xf32, #relax.dims<["n", 6, 3]>>
  return %0 : tensor<?x6x3xf32, #relax.dims<["n", 6, 3]>>
}

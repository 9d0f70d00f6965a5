// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @reshape(
// CHECK: "relax.reshape"(%arg0) {shape = #relax.dims<["n", "m", 3, 4]>} : (tensor<?x?x12xf32, #relax.dims<["n", "m", 12]>>) -> tensor<?x?x3x4xf32, #relax.dims<["n", "m", 3, 4]>>
func.func @reshape(%arg0: tensor<?x?x12xf32, #relax.dims<["n", "m", 12]>>) -> tensor<?x?x3x4xf32, #relax.dims<["n", "m", 3, 4]>> {
  %0 = "relax.reshape"(%arg0) {shape = #relax.dims<["n", "m", 3, 4]>} : (tensor<?x?x12xf32, #relax.dims<["n", "m", 12]>>) -> tensor<?x?x3x4xf32, #relax.dims<["n", "m", 3, 4]>>
  return %0 : tensor<?x?x3x4xf32, #relax.dims<["n", "m", 3, 4]>>
}

// CHECK-LABEL: @permute_dims(
// CHECK: "relax.permute_dims"(%arg0) {axes = array<i64: 2, 0, 1>} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<3x?x?xf32, #relax.dims<[3, "n", "m"]>>
func.func @permute_dims(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<3x?x?xf32, #relax.dims<[3, "n", "m"]>> {
  %0 = "relax.permute_dims"(%arg0) {axes = array<i64: 2, 0, 1>} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<3x?x?xf32, #relax.dims<[3, "n", "m"]>>
  return %0 : tensor<3x?x?xf32, #relax.dims<[3, "n", "m"]>>
}

// CHECK-LABEL: @expand_dims(
// CHECK: "relax.expand_dims"(%arg0) {axis = array<i64: 0, -1>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<1x?x?x1xf32, #relax.dims<[1, "n", "m", 1]>>
func.func @expand_dims(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<1x?x?x1xf32, #relax.dims<[1, "n", "m", 1]>> {
  %0 = "relax.expand_dims"(%arg0) {axis = array<i64: 0, -1>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<1x?x?x1xf32, #relax.dims<[1, "n", "m", 1]>>
  return %0 : tensor<1x?x?x1xf32, #relax.dims<[1, "n", "m", 1]>>
}

// CHECK-LABEL: @squeeze(
// CHECK: "relax.squeeze"(%arg0) {axis = array<i64: 1, -1>} : (tensor<?x1x?x1xf32, #relax.dims<["n", 1, "m", 1]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @squeeze(%arg0: tensor<?x1x?x1xf32, #relax.dims<["n", 1, "m", 1]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.squeeze"(%arg0) {axis = array<i64: 1, -1>} : (tensor<?x1x?x1xf32, #relax.dims<["n", 1, "m", 1]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @broadcast_to(
// CHECK: "relax.broadcast_to"(%arg0) {shape = #relax.dims<[3, "n", 7]>} : (tensor<?x1xf32, #relax.dims<["n", 1]>>) -> tensor<3x?x7xf32, #relax.dims<[3, "n", 7]>>
func.func @broadcast_to(%arg0: tensor<?x1xf32, #relax.dims<["n", 1]>>) -> tensor<3x?x7xf32, #relax.dims<[3, "n", 7]>> {
  %0 = "relax.broadcast_to"(%arg0) {shape = #relax.dims<[3, "n", 7]>} : (tensor<?x1xf32, #relax.dims<["n", 1]>>) -> tensor<3x?x7xf32, #relax.dims<[3, "n", 7]>>
  return %0 : tensor<3x?x7xf32, #relax.dims<[3, "n", 7]>>
}

// CHECK-LABEL: @tile(
// CHECK: "relax.tile"(%arg0) {repeats = #relax.dims<[2, 3]>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n * 2", "m * 3"]>>
func.func @tile(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n * 2", "m * 3"]>> {
  %0 = "relax.tile"(%arg0) {repeats = #relax.dims<[2, 3]>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n * 2", "m * 3"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n * 2", "m * 3"]>>
}

// CHECK-LABEL: @dynamic_broadcast_to(
// CHECK: "relax.dynamic_broadcast_to"(%arg0) {shape = #relax.dims<["broadcast(n, m)", 7]>} : (tensor<?x1xf32, #relax.dims<["n", 1]>>) -> tensor<?x7xf32, #relax.dims<["broadcast(n, m)", 7]>>
func.func @dynamic_broadcast_to(%arg0: tensor<?x1xf32, #relax.dims<["n", 1]>>) -> tensor<?x7xf32, #relax.dims<["broadcast(n, m)", 7]>> {
  %0 = "relax.dynamic_broadcast_to"(%arg0) {shape = #relax.dims<["broadcast(n, m)", 7]>} : (tensor<?x1xf32, #relax.dims<["n", 1]>>) -> tensor<?x7xf32, #relax.dims<["broadcast(n, m)", 7]>>
  return %0 : tensor<?x7xf32, #relax.dims<["broadcast(n, m)", 7]>>
}

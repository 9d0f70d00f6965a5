// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @sum(
// CHECK: "relax.sum"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
func.func @sum(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>> {
  %0 = "relax.sum"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
  return %0 : tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
}

// CHECK-LABEL: @sum_2(
// CHECK: "relax.sum"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
func.func @sum_2(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32> {
  %0 = "relax.sum"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @mean(
// CHECK: "relax.mean"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
func.func @mean(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>> {
  %0 = "relax.mean"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
  return %0 : tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
}

// CHECK-LABEL: @mean_2(
// CHECK: "relax.mean"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
func.func @mean_2(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32> {
  %0 = "relax.mean"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @prod(
// CHECK: "relax.prod"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
func.func @prod(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>> {
  %0 = "relax.prod"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
  return %0 : tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
}

// CHECK-LABEL: @prod_2(
// CHECK: "relax.prod"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
func.func @prod_2(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32> {
  %0 = "relax.prod"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @max(
// CHECK: "relax.max"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
func.func @max(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>> {
  %0 = "relax.max"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
  return %0 : tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
}

// CHECK-LABEL: @max_2(
// CHECK: "relax.max"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
func.func @max_2(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32> {
  %0 = "relax.max"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @min(
// CHECK: "relax.min"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
func.func @min(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>> {
  %0 = "relax.min"(%arg0) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
  return %0 : tensor<1x?x1xf32, #relax.dims<[1, "m", 1]>>
}

// CHECK-LABEL: @min_2(
// CHECK: "relax.min"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
func.func @min_2(%arg0: tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32> {
  %0 = "relax.min"(%arg0) : (tensor<?x?x3xf32, #relax.dims<["n", "m", 3]>>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @argmax(
// CHECK: "relax.argmax"(%arg0) {axis = 0 : i64, keepdims = true} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>>
func.func @argmax(%arg0: tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>> {
  %0 = "relax.argmax"(%arg0) {axis = 0 : i64, keepdims = true} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>>
  return %0 : tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>>
}

// CHECK-LABEL: @argmax_2(
// CHECK: "relax.argmax"(%arg0) {axis = 1 : i64} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<?x3xi64, #relax.dims<["n", 3]>>
func.func @argmax_2(%arg0: tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<?x3xi64, #relax.dims<["n", 3]>> {
  %0 = "relax.argmax"(%arg0) {axis = 1 : i64} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<?x3xi64, #relax.dims<["n", 3]>>
  return %0 : tensor<?x3xi64, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: @argmin(
// CHECK: "relax.argmin"(%arg0) {axis = 0 : i64, keepdims = true} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>>
func.func @argmin(%arg0: tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>> {
  %0 = "relax.argmin"(%arg0) {axis = 0 : i64, keepdims = true} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>>
  return %0 : tensor<1x?x3xi64, #relax.dims<[1, "m", 3]>>
}

// CHECK-LABEL: @argmin_2(
// CHECK: "relax.argmin"(%arg0) {axis = 1 : i64} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<?x3xi64, #relax.dims<["n", 3]>>
func.func @argmin_2(%arg0: tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<?x3xi64, #relax.dims<["n", 3]>> {
  %0 = "relax.argmin"(%arg0) {axis = 1 : i64} : (tensor<?x?x3xi32, #relax.dims<["n", "m", 3]>>) -> tensor<?x3xi64, #relax.dims<["n", 3]>>
  return %0 : tensor<?x3xi64, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: @cumsum(
// CHECK: "relax.cumsum"(%arg0) {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @cumsum(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.cumsum"(%arg0) {axis = 1 : i64, exclusive = true, reverse = true} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @cumsum_2(
// CHECK: "relax.cumsum"(%arg0) {axis = 0 : i64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @cumsum_2(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.cumsum"(%arg0) {axis = 0 : i64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// -----

// CHECK-LABEL: @cumprod(
// CHECK: "relax.cumprod"(%arg0) {axis = 1 : i64, reverse = true} : (tensor<?x3xi32, #relax.dims<["n", 3]>>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
func.func @cumprod(%arg0: tensor<?x3xi32, #relax.dims<["n", 3]>>) -> tensor<?x3xi32, #relax.dims<["n", 3]>> {
  %0 = "relax.cumprod"(%arg0) {axis = 1 : i64, reverse = true} : (tensor<?x3xi32, #relax.dims<["n", 3]>>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
  return %0 : tensor<?x3xi32, #relax.dims<["n", 3]>>
}

// -----

// CHECK-LABEL: @topk(
// CHECK: "relax.topk"(%arg0) {axis = 0 : i64, k = 2 : i64, largest = false} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<2x3xi64>
func.func @topk(%arg0: tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<2x3xi64> {
  %0 = "relax.topk"(%arg0) {axis = 0 : i64, k = 2 : i64, largest = false} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}

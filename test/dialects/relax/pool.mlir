// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @max_pool1d(
// CHECK: "relax.max_pool1d"(%arg0) {ceil_mode = true, kernel = array<i64: 3>, padding = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>>
func.func @max_pool1d(%arg0: tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>> {
  %0 = "relax.max_pool1d"(%arg0) {ceil_mode = true, kernel = array<i64: 3>, padding = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>>
  return %0 : tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>>
}

// CHECK-LABEL: @max_pool1d_2(
// CHECK: "relax.max_pool1d"(%arg0) {kernel = array<i64: 3>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>>
func.func @max_pool1d_2(%arg0: tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>> {
  %0 = "relax.max_pool1d"(%arg0) {kernel = array<i64: 3>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>>
  return %0 : tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>>
}

// CHECK-LABEL: @max_pool2d(
// CHECK: "relax.max_pool2d"(%arg0) {ceil_mode = true, dilations = array<i64: 1, 2>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 2, 1>, strides = array<i64: 2, 1>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>>
func.func @max_pool2d(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>> {
  %0 = "relax.max_pool2d"(%arg0) {ceil_mode = true, dilations = array<i64: 1, 2>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 2, 1>, strides = array<i64: 2, 1>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>>
  return %0 : tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>>
}

// CHECK-LABEL: @max_pool2d_2(
// CHECK: "relax.max_pool2d"(%arg0) {kernel = array<i64: 3, 2>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>>
func.func @max_pool2d_2(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>> {
  %0 = "relax.max_pool2d"(%arg0) {kernel = array<i64: 3, 2>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>>
  return %0 : tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>>
}

// CHECK-LABEL: @max_pool3d(
// CHECK: "relax.max_pool3d"(%arg0) {ceil_mode = true, dilations = array<i64: 1, 2, 2>, kernel = array<i64: 3, 2, 3>, padding = array<i64: 1, 0, 2, 2, 1, 0>, strides = array<i64: 2, 1, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>>
func.func @max_pool3d(%arg0: tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>> {
  %0 = "relax.max_pool3d"(%arg0) {ceil_mode = true, dilations = array<i64: 1, 2, 2>, kernel = array<i64: 3, 2, 3>, padding = array<i64: 1, 0, 2, 2, 1, 0>, strides = array<i64: 2, 1, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>>
  return %0 : tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>>
}

// CHECK-LABEL: @max_pool3d_2(
// CHECK: "relax.max_pool3d"(%arg0) {kernel = array<i64: 3, 2, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>>
func.func @max_pool3d_2(%arg0: tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>> {
  %0 = "relax.max_pool3d"(%arg0) {kernel = array<i64: 3, 2, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>>
  return %0 : tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>>
}

// CHECK-LABEL: @avg_pool1d(
// CHECK: "relax.avg_pool1d"(%arg0) {ceil_mode = true, count_include_pad = true, kernel = array<i64: 3>, padding = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>>
func.func @avg_pool1d(%arg0: tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>> {
  %0 = "relax.avg_pool1d"(%arg0) {ceil_mode = true, count_include_pad = true, kernel = array<i64: 3>, padding = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>>
  return %0 : tensor<2x4x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)"]>>
}

// CHECK-LABEL: @avg_pool1d_2(
// CHECK: "relax.avg_pool1d"(%arg0) {kernel = array<i64: 3>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>>
func.func @avg_pool1d_2(%arg0: tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>> {
  %0 = "relax.avg_pool1d"(%arg0) {kernel = array<i64: 3>} : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>>
  return %0 : tensor<2x4x?xf32, #relax.dims<[2, 4, "n - 2"]>>
}

// CHECK-LABEL: @avg_pool2d(
// CHECK: "relax.avg_pool2d"(%arg0) {ceil_mode = true, count_include_pad = true, dilations = array<i64: 1, 2>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 2, 1>, strides = array<i64: 2, 1>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>>
func.func @avg_pool2d(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>> {
  %0 = "relax.avg_pool2d"(%arg0) {ceil_mode = true, count_include_pad = true, dilations = array<i64: 1, 2>, kernel = array<i64: 3, 2>, padding = array<i64: 1, 0, 2, 1>, strides = array<i64: 2, 1>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>>
  return %0 : tensor<2x4x?x?xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1"]>>
}

// CHECK-LABEL: @avg_pool2d_2(
// CHECK: "relax.avg_pool2d"(%arg0) {kernel = array<i64: 3, 2>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>>
func.func @avg_pool2d_2(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>> {
  %0 = "relax.avg_pool2d"(%arg0) {kernel = array<i64: 3, 2>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>) -> tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>>
  return %0 : tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n - 2", "m - 1"]>>
}

// CHECK-LABEL: @avg_pool3d(
// CHECK: "relax.avg_pool3d"(%arg0) {ceil_mode = true, count_include_pad = true, dilations = array<i64: 1, 2, 2>, kernel = array<i64: 3, 2, 3>, padding = array<i64: 1, 0, 2, 2, 1, 0>, strides = array<i64: 2, 1, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>>
func.func @avg_pool3d(%arg0: tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>> {
  %0 = "relax.avg_pool3d"(%arg0) {ceil_mode = true, count_include_pad = true, dilations = array<i64: 1, 2, 2>, kernel = array<i64: 3, 2, 3>, padding = array<i64: 1, 0, 2, 2, 1, 0>, strides = array<i64: 2, 1, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>>
  return %0 : tensor<2x4x?x?x4xf32, #relax.dims<[2, 4, "min((n + 1) // 2 + 1, n // 2 + 1)", "m - 1", 4]>>
}

// CHECK-LABEL: @avg_pool3d_2(
// CHECK: "relax.avg_pool3d"(%arg0) {kernel = array<i64: 3, 2, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>>
func.func @avg_pool3d_2(%arg0: tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>> {
  %0 = "relax.avg_pool3d"(%arg0) {kernel = array<i64: 3, 2, 3>} : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>) -> tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>>
  return %0 : tensor<2x4x?x?x8xf32, #relax.dims<[2, 4, "n - 2", "m - 1", 8]>>
}

// CHECK-LABEL: @arg_max_pool1d(
// CHECK: "relax.arg_max_pool1d"(%arg0) {kernel = array<i64: 3>} : (tensor<2x4x?xui8, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xi64, #relax.dims<[2, 4, "n - 2"]>>
func.func @arg_max_pool1d(%arg0: tensor<2x4x?xui8, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xi64, #relax.dims<[2, 4, "n - 2"]>> {
  %0 = "relax.arg_max_pool1d"(%arg0) {kernel = array<i64: 3>} : (tensor<2x4x?xui8, #relax.dims<[2, 4, "n"]>>) -> tensor<2x4x?xi64, #relax.dims<[2, 4, "n - 2"]>>
  return %0 : tensor<2x4x?xi64, #relax.dims<[2, 4, "n - 2"]>>
}

// CHECK-LABEL: @arg_max_pool2d(
// CHECK: "relax.arg_max_pool2d"(%arg0) {ceil_mode = true, kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xi64>
func.func @arg_max_pool2d(%arg0: tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xi64> {
  %0 = "relax.arg_max_pool2d"(%arg0) {ceil_mode = true, kernel = array<i64: 3, 2>, strides = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xi64>
  return %0 : tensor<2x4x4x4xi64>
}

// CHECK-LABEL: @arg_max_pool3d(
// CHECK: "relax.arg_max_pool3d"(%arg0) {kernel = array<i64: 2, 2, 2>} : (tensor<1x4x8x8x8xf32>) -> tensor<1x4x7x7x7xi64>
func.func @arg_max_pool3d(%arg0: tensor<1x4x8x8x8xf32>) -> tensor<1x4x7x7x7xi64> {
  %0 = "relax.arg_max_pool3d"(%arg0) {kernel = array<i64: 2, 2, 2>} : (tensor<1x4x8x8x8xf32>) -> tensor<1x4x7x7x7xi64>
  return %0 : tensor<1x4x7x7x7xi64>
}

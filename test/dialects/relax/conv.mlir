// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @conv1d(
// CHECK: "relax.conv1d"(%arg0, %arg1) {data_layout = "NWC", kernel_layout = "WIO", padding = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>, tensor<3x4x6xf32>) -> tensor<2x?x6xf32, #relax.dims<[2, "n // 2 + 1", 6]>>
func.func @conv1d(%arg0: tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>, %arg1: tensor<3x4x6xf32>) -> tensor<2x?x6xf32, #relax.dims<[2, "n // 2 + 1", 6]>> {
  %0 = "relax.conv1d"(%arg0, %arg1) {data_layout = "NWC", kernel_layout = "WIO", padding = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>, tensor<3x4x6xf32>) -> tensor<2x?x6xf32, #relax.dims<[2, "n // 2 + 1", 6]>>
  return %0 : tensor<2x?x6xf32, #relax.dims<[2, "n // 2 + 1", 6]>>
}

// CHECK-LABEL: @conv1d_2(
// CHECK: "relax.conv1d"(%arg0, %arg1) : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>, tensor<6x4x3xf32>) -> tensor<2x6x?xf32, #relax.dims<[2, 6, "n - 2"]>>
func.func @conv1d_2(%arg0: tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>, %arg1: tensor<6x4x3xf32>) -> tensor<2x6x?xf32, #relax.dims<[2, 6, "n - 2"]>> {
  %0 = "relax.conv1d"(%arg0, %arg1) : (tensor<2x4x?xf32, #relax.dims<[2, 4, "n"]>>, tensor<6x4x3xf32>) -> tensor<2x6x?xf32, #relax.dims<[2, 6, "n - 2"]>>
  return %0 : tensor<2x6x?xf32, #relax.dims<[2, 6, "n - 2"]>>
}

// CHECK-LABEL: @conv2d(
// CHECK: "relax.conv2d"(%arg0, %arg1) {data_layout = "NHWC", dilations = array<i64: 1, 2>, kernel_layout = "HWIO", padding = array<i64: 1, 0, 2, 1>, strides = array<i64: 2, 1>} : (tensor<2x?x?x4xf32, #relax.dims<[2, "n", "m", 4]>>, tensor<3x2x4x6xf32>) -> tensor<2x?x?x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 6]>>
func.func @conv2d(%arg0: tensor<2x?x?x4xf32, #relax.dims<[2, "n", "m", 4]>>, %arg1: tensor<3x2x4x6xf32>) -> tensor<2x?x?x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 6]>> {
  %0 = "relax.conv2d"(%arg0, %arg1) {data_layout = "NHWC", dilations = array<i64: 1, 2>, kernel_layout = "HWIO", padding = array<i64: 1, 0, 2, 1>, strides = array<i64: 2, 1>} : (tensor<2x?x?x4xf32, #relax.dims<[2, "n", "m", 4]>>, tensor<3x2x4x6xf32>) -> tensor<2x?x?x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 6]>>
  return %0 : tensor<2x?x?x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 6]>>
}

// CHECK-LABEL: @conv2d_2(
// CHECK: "relax.conv2d"(%arg0, %arg1) : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, tensor<6x4x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n - 2", "m - 1"]>>
func.func @conv2d_2(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, %arg1: tensor<6x4x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n - 2", "m - 1"]>> {
  %0 = "relax.conv2d"(%arg0, %arg1) : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, tensor<6x4x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n - 2", "m - 1"]>>
  return %0 : tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n - 2", "m - 1"]>>
}

// CHECK-LABEL: @conv3d(
// CHECK: "relax.conv3d"(%arg0, %arg1) {data_layout = "NDHWC", dilations = array<i64: 1, 2, 2>, kernel_layout = "DHWIO", padding = array<i64: 1, 0, 2, 2, 1, 0>, strides = array<i64: 2, 1, 3>} : (tensor<2x?x?x10x4xf32, #relax.dims<[2, "n", "m", 10, 4]>>, tensor<3x2x3x4x6xf32>) -> tensor<2x?x?x3x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 3, 6]>>
func.func @conv3d(%arg0: tensor<2x?x?x10x4xf32, #relax.dims<[2, "n", "m", 10, 4]>>, %arg1: tensor<3x2x3x4x6xf32>) -> tensor<2x?x?x3x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 3, 6]>> {
  %0 = "relax.conv3d"(%arg0, %arg1) {data_layout = "NDHWC", dilations = array<i64: 1, 2, 2>, kernel_layout = "DHWIO", padding = array<i64: 1, 0, 2, 2, 1, 0>, strides = array<i64: 2, 1, 3>} : (tensor<2x?x?x10x4xf32, #relax.dims<[2, "n", "m", 10, 4]>>, tensor<3x2x3x4x6xf32>) -> tensor<2x?x?x3x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 3, 6]>>
  return %0 : tensor<2x?x?x3x6xf32, #relax.dims<[2, "n // 2 + 1", "m - 1", 3, 6]>>
}

// CHECK-LABEL: @conv3d_2(
// CHECK: "relax.conv3d"(%arg0, %arg1) : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>, tensor<6x4x3x2x3xf32>) -> tensor<2x6x?x?x8xf32, #relax.dims<[2, 6, "n - 2", "m - 1", 8]>>
func.func @conv3d_2(%arg0: tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>, %arg1: tensor<6x4x3x2x3xf32>) -> tensor<2x6x?x?x8xf32, #relax.dims<[2, 6, "n - 2", "m - 1", 8]>> {
  %0 = "relax.conv3d"(%arg0, %arg1) : (tensor<2x4x?x?x10xf32, #relax.dims<[2, 4, "n", "m", 10]>>, tensor<6x4x3x2x3xf32>) -> tensor<2x6x?x?x8xf32, #relax.dims<[2, 6, "n - 2", "m - 1", 8]>>
  return %0 : tensor<2x6x?x?x8xf32, #relax.dims<[2, 6, "n - 2", "m - 1", 8]>>
}

// CHECK-LABEL: @conv2d_transpose(
// CHECK: "relax.conv2d_transpose"(%arg0, %arg1) {output_padding = array<i64: 1, 2>, padding = array<i64: 1, 0, 1, 2>, strides = array<i64: 2, 3>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, tensor<4x6x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n * 2", "m * 3 - 1"]>>
func.func @conv2d_transpose(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, %arg1: tensor<4x6x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n * 2", "m * 3 - 1"]>> {
  %0 = "relax.conv2d_transpose"(%arg0, %arg1) {output_padding = array<i64: 1, 2>, padding = array<i64: 1, 0, 1, 2>, strides = array<i64: 2, 3>} : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, tensor<4x6x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n * 2", "m * 3 - 1"]>>
  return %0 : tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n * 2", "m * 3 - 1"]>>
}

// CHECK-LABEL: @conv2d_transpose_2(
// CHECK: "relax.conv2d_transpose"(%arg0, %arg1) : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, tensor<4x6x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n + 2", "m + 1"]>>
func.func @conv2d_transpose_2(%arg0: tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, %arg1: tensor<4x6x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n + 2", "m + 1"]>> {
  %0 = "relax.conv2d_transpose"(%arg0, %arg1) : (tensor<2x4x?x?xf32, #relax.dims<[2, 4, "n", "m"]>>, tensor<4x6x3x2xf32>) -> tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n + 2", "m + 1"]>>
  return %0 : tensor<2x6x?x?xf32, #relax.dims<[2, 6, "n + 2", "m + 1"]>>
}

// CHECK-LABEL: @conv1d_transpose(
// CHECK: "relax.conv1d_transpose"(%arg0, %arg1) : (tensor<2x4x7xf32>, tensor<4x6x5xf32>) -> tensor<2x6x11xf32>
func.func @conv1d_transpose(%arg0: tensor<2x4x7xf32>, %arg1: tensor<4x6x5xf32>) -> tensor<2x6x11xf32> {
  %0 = "relax.conv1d_transpose"(%arg0, %arg1) : (tensor<2x4x7xf32>, tensor<4x6x5xf32>) -> tensor<2x6x11xf32>
  return %0 : tensor<2x6x11xf32>
}

// CHECK-LABEL: @conv3d_transpose(
// CHECK: "relax.conv3d_transpose"(%arg0, %arg1) : (tensor<2x4x3x4x5xf32>, tensor<4x2x3x3x3xf32>) -> tensor<2x2x5x6x7xf32>
func.func @conv3d_transpose(%arg0: tensor<2x4x3x4x5xf32>, %arg1: tensor<4x2x3x3x3xf32>) -> tensor<2x2x5x6x7xf32> {
  %0 = "relax.conv3d_transpose"(%arg0, %arg1) : (tensor<2x4x3x4x5xf32>, tensor<4x2x3x3x3xf32>) -> tensor<2x2x5x6x7xf32>
  return %0 : tensor<2x2x5x6x7xf32>
}

// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @layer_norm(
// CHECK: "relax.layer_norm"(%arg0, %arg1, %arg2) {epsilon = 9.9999999999999998E-13 : f64} : (tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
func.func @layer_norm(%arg0: tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>> {
  %0 = "relax.layer_norm"(%arg0, %arg1, %arg2) {epsilon = 9.9999999999999998E-13 : f64} : (tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
  return %0 : tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
}

// CHECK-LABEL: @rms_norm(
// CHECK: "relax.rms_norm"(%arg0, %arg1) {axes = array<i64: -2, -1>} : (tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, tensor<?x16xf32, #relax.dims<["m", 16]>>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
func.func @rms_norm(%arg0: tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, %arg1: tensor<?x16xf32, #relax.dims<["m", 16]>>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>> {
  %0 = "relax.rms_norm"(%arg0, %arg1) {axes = array<i64: -2, -1>} : (tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, tensor<?x16xf32, #relax.dims<["m", 16]>>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
  return %0 : tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
}

// CHECK-LABEL: @rms_norm_2(
// CHECK: "relax.rms_norm"(%arg0, %arg1) : (tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, tensor<16xf32>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
func.func @rms_norm_2(%arg0: tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, %arg1: tensor<16xf32>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>> {
  %0 = "relax.rms_norm"(%arg0, %arg1) : (tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>, tensor<16xf32>) -> tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
  return %0 : tensor<?x?x16xf32, #relax.dims<["n", "m", 16]>>
}

// CHECK-LABEL: @batch_norm(
// CHECK: "relax.batch_norm"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 1.000000e-03 : f64} : (tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
func.func @batch_norm(%arg0: tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>, %arg4: tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>> {
  %0 = "relax.batch_norm"(%arg0, %arg1, %arg2, %arg3, %arg4) {epsilon = 1.000000e-03 : f64} : (tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
  return %0 : tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
}

// CHECK-LABEL: @instance_norm(
// CHECK: "relax.instance_norm"(%arg0, %arg1, %arg2) {epsilon = 1.000000e-03 : f64} : (tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
func.func @instance_norm(%arg0: tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>> {
  %0 = "relax.instance_norm"(%arg0, %arg1, %arg2) {epsilon = 1.000000e-03 : f64} : (tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
  return %0 : tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
}

// CHECK-LABEL: @group_norm(
// CHECK: "relax.group_norm"(%arg0, %arg1, %arg2) {num_groups = 2 : i64} : (tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
func.func @group_norm(%arg0: tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>> {
  %0 = "relax.group_norm"(%arg0, %arg1, %arg2) {num_groups = 2 : i64} : (tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
  return %0 : tensor<?x4x?x3xf32, #relax.dims<["n", 4, "m", 3]>>
}

// CHECK-LABEL: @lrn(
// CHECK: "relax.lrn"(%arg0) {beta = 5.000000e-01 : f64, bias = 2.000000e+00 : f64, size = 4 : i64} : (tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>
func.func @lrn(%arg0: tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>> {
  %0 = "relax.lrn"(%arg0) {beta = 5.000000e-01 : f64, bias = 2.000000e+00 : f64, size = 4 : i64} : (tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>
  return %0 : tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>
}

// CHECK-LABEL: @lrn_2(
// CHECK: "relax.lrn"(%arg0) {alpha = 2.000000e-02 : f64, size = 5 : i64} : (tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>
func.func @lrn_2(%arg0: tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>> {
  %0 = "relax.lrn"(%arg0) {alpha = 2.000000e-02 : f64, size = 5 : i64} : (tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>
  return %0 : tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>
}

// CHECK-LABEL: @softmax(
// CHECK: "relax.softmax"(%arg0) {axis = 0 : i64} : (tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>) -> tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>
func.func @softmax(%arg0: tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>) -> tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>> {
  %0 = "relax.softmax"(%arg0) {axis = 0 : i64} : (tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>) -> tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>
  return %0 : tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>
}

// CHECK-LABEL: @log_softmax(
// CHECK: "relax.log_softmax"(%arg0) {axis = 0 : i64} : (tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>) -> tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>
func.func @log_softmax(%arg0: tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>) -> tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>> {
  %0 = "relax.log_softmax"(%arg0) {axis = 0 : i64} : (tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>) -> tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>
  return %0 : tensor<?x?x11xf32, #relax.dims<["n", "m", 11]>>
}

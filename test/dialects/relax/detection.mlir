// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @non_max_suppression(
// CHECK: "relax.non_max_suppression"(%arg0, %arg1, %arg2, %arg3) {k = 3 : i64} : ({{.*}}) -> tensor<2x5x3xi64>
func.func @non_max_suppression(%arg0: tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>, %arg1: tensor<2x5x?xf32, #relax.dims<[2, 5, "n"]>>, %arg2: tensor<2x5x?xi1, #relax.dims<[2, 5, "n"]>>, %arg3: tensor<f32>) -> tensor<2x5x3xi64> {
  %0 = "relax.non_max_suppression"(%arg0, %arg1, %arg2, %arg3) {k = 3 : i64} : (tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>, tensor<2x5x?xf32, #relax.dims<[2, 5, "n"]>>, tensor<2x5x?xi1, #relax.dims<[2, 5, "n"]>>, tensor<f32>) -> tensor<2x5x3xi64>
  return %0 : tensor<2x5x3xi64>
}

// CHECK-LABEL: @roi_align(
// CHECK: "relax.roi_align"(%arg0, %arg1, %arg2) {sampling = 2 : i64, scale = 2.500000e-01 : f64, size = array<i64: 7, 5>} : ({{.*}}) -> tensor<?x16x7x5xf32, #relax.dims<["n", 16, 7, 5]>>
func.func @roi_align(%arg0: tensor<2x16x50x60xf32>, %arg1: tensor<?x4xf32, #relax.dims<["n", 4]>>, %arg2: tensor<?xi64, #relax.dims<["n"]>>) -> tensor<?x16x7x5xf32, #relax.dims<["n", 16, 7, 5]>> {
  %0 = "relax.roi_align"(%arg0, %arg1, %arg2) {sampling = 2 : i64, scale = 2.500000e-01 : f64, size = array<i64: 7, 5>} : (tensor<2x16x50x60xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?xi64, #relax.dims<["n"]>>) -> tensor<?x16x7x5xf32, #relax.dims<["n", 16, 7, 5]>>
  return %0 : tensor<?x16x7x5xf32, #relax.dims<["n", 16, 7, 5]>>
}

// CHECK-LABEL: @roi_pool(
// CHECK: "relax.roi_pool"(%arg0, %arg1, %arg2) {channels_last = true, size = array<i64: 7, 5>} : ({{.*}}) -> tensor<?x7x5x16xf32, #relax.dims<["n", 7, 5, 16]>>
func.func @roi_pool(%arg0: tensor<2x50x60x16xf32>, %arg1: tensor<?x4xf32, #relax.dims<["n", 4]>>, %arg2: tensor<?xi64, #relax.dims<["n"]>>) -> tensor<?x7x5x16xf32, #relax.dims<["n", 7, 5, 16]>> {
  %0 = "relax.roi_pool"(%arg0, %arg1, %arg2) {channels_last = true, size = array<i64: 7, 5>} : (tensor<2x50x60x16xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?xi64, #relax.dims<["n"]>>) -> tensor<?x7x5x16xf32, #relax.dims<["n", 7, 5, 16]>>
  return %0 : tensor<?x7x5x16xf32, #relax.dims<["n", 7, 5, 16]>>
}

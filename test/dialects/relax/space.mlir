// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @depth_to_space(
// CHECK: "relax.depth_to_space"(%arg0) {block = 2 : i64} : (tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x2x?x6xf32, #relax.dims<["n", 2, "m * 2", 6]>>
func.func @depth_to_space(%arg0: tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x2x?x6xf32, #relax.dims<["n", 2, "m * 2", 6]>> {
  %0 = "relax.depth_to_space"(%arg0) {block = 2 : i64} : (tensor<?x8x?x3xf32, #relax.dims<["n", 8, "m", 3]>>) -> tensor<?x2x?x6xf32, #relax.dims<["n", 2, "m * 2", 6]>>
  return %0 : tensor<?x2x?x6xf32, #relax.dims<["n", 2, "m * 2", 6]>>
}

// CHECK-LABEL: @space_to_depth(
// CHECK: "relax.space_to_depth"(%arg0) {block = 2 : i64} : (tensor<?x?x8x6xf32, #relax.dims<["n", "m", 8, 6]>>) -> tensor<?x?x4x3xf32, #relax.dims<["n", "m * 4", 4, 3]>>
func.func @space_to_depth(%arg0: tensor<?x?x8x6xf32, #relax.dims<["n", "m", 8, 6]>>) -> tensor<?x?x4x3xf32, #relax.dims<["n", "m * 4", 4, 3]>> {
  %0 = "relax.space_to_depth"(%arg0) {block = 2 : i64} : (tensor<?x?x8x6xf32, #relax.dims<["n", "m", 8, 6]>>) -> tensor<?x?x4x3xf32, #relax.dims<["n", "m * 4", 4, 3]>>
  return %0 : tensor<?x?x4x3xf32, #relax.dims<["n", "m * 4", 4, 3]>>
}

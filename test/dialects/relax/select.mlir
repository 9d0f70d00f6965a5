// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @where(
// CHECK: "relax.where"(%arg0, %arg1, %arg2) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>, tensor<?xf32, #relax.dims<["k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @where(%arg0: tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>, %arg2: tensor<?xf32, #relax.dims<["k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.where"(%arg0, %arg1, %arg2) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>, tensor<?xf32, #relax.dims<["k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @prelu(
// CHECK: "relax.prelu"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @prelu(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.prelu"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @clip(
// CHECK: "relax.clip"(%arg0) {max = 6.000000e+00 : f64, min = 0.000000e+00 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @clip(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.clip"(%arg0) {max = 6.000000e+00 : f64, min = 0.000000e+00 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @astype(
// CHECK: "relax.astype"(%arg0) {dtype = f16} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf16, #relax.dims<["n", "m"]>>
func.func @astype(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf16, #relax.dims<["n", "m"]>> {
  %0 = "relax.astype"(%arg0) {dtype = f16} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf16, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf16, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @bitcast(
// CHECK: "relax.bitcast"(%arg0) {dtype = i32} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xi32, #relax.dims<["n"]>>
func.func @bitcast(%arg0: tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xi32, #relax.dims<["n"]>> {
  %0 = "relax.bitcast"(%arg0) {dtype = i32} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xi32, #relax.dims<["n"]>>
  return %0 : tensor<?xi32, #relax.dims<["n"]>>
}

// CHECK-LABEL: @narrow(
// CHECK: "relax.astype"(%arg0) {dtype = f8E4M3FN} : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
// CHECK: "relax.astype"(%{{.*}}) {dtype = i4} : (tensor<2xf8E4M3FN>) -> tensor<2xi4>
func.func @narrow(%arg0: tensor<2xf32>) -> tensor<2xi4> {
  %0 = "relax.astype"(%arg0) {dtype = f8E4M3FN} : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
  %1 = "relax.astype"(%0) {dtype = i4} : (tensor<2xf8E4M3FN>) -> tensor<2xi4>
  return %1 : tensor<2xi4>
}

// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @add(
// CHECK: "relax.add"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @add(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.add"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @subtract(
// CHECK: "relax.subtract"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @subtract(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.subtract"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @multiply(
// CHECK: "relax.multiply"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @multiply(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.multiply"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @divide(
// CHECK: "relax.divide"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @divide(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.divide"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @floor_divide(
// CHECK: "relax.floor_divide"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @floor_divide(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.floor_divide"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @power(
// CHECK: "relax.power"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @power(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.power"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @maximum(
// CHECK: "relax.maximum"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @maximum(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.maximum"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @minimum(
// CHECK: "relax.minimum"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @minimum(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.minimum"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @mod(
// CHECK: "relax.mod"(%arg0, %arg1) {fmod = true} : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
func.func @mod(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.mod"(%arg0, %arg1) {fmod = true} : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xf32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @equal(
// CHECK: "relax.equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @equal(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @not_equal(
// CHECK: "relax.not_equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @not_equal(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.not_equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @less(
// CHECK: "relax.less"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @less(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.less"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @less_equal(
// CHECK: "relax.less_equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @less_equal(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.less_equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @greater(
// CHECK: "relax.greater"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @greater(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.greater"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @greater_equal(
// CHECK: "relax.greater_equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @greater_equal(%arg0: tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.greater_equal"(%arg0, %arg1) : (tensor<?x1x?xf32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xf32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @logical_and(
// CHECK: "relax.logical_and"(%arg0, %arg1) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @logical_and(%arg0: tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.logical_and"(%arg0, %arg1) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @logical_or(
// CHECK: "relax.logical_or"(%arg0, %arg1) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @logical_or(%arg0: tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.logical_or"(%arg0, %arg1) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @logical_xor(
// CHECK: "relax.logical_xor"(%arg0, %arg1) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
func.func @logical_xor(%arg0: tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.logical_xor"(%arg0, %arg1) : (tensor<?x1x?xi1, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi1, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi1, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @bitwise_and(
// CHECK: "relax.bitwise_and"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
func.func @bitwise_and(%arg0: tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.bitwise_and"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @bitwise_or(
// CHECK: "relax.bitwise_or"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
func.func @bitwise_or(%arg0: tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.bitwise_or"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @bitwise_xor(
// CHECK: "relax.bitwise_xor"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
func.func @bitwise_xor(%arg0: tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.bitwise_xor"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @left_shift(
// CHECK: "relax.left_shift"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
func.func @left_shift(%arg0: tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.left_shift"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
}

// CHECK-LABEL: @right_shift(
// CHECK: "relax.right_shift"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
func.func @right_shift(%arg0: tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, %arg1: tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>> {
  %0 = "relax.right_shift"(%arg0, %arg1) : (tensor<?x1x?xi32, #relax.dims<["n", 1, "k"]>>, tensor<?x?xi32, #relax.dims<["m", "k"]>>) -> tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
  return %0 : tensor<?x?x?xi32, #relax.dims<["n", "m", "k"]>>
}

// RUN: legato-opt %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @strided_slice(
// CHECK: "relax.strided_slice"(%arg0) {axes = array<i64: 1>, begin = #relax.dims<[-1]>, end = #relax.dims<[-9223372036854775808]>, strides = array<i64: -1>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @strided_slice(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> {
  %0 = "relax.strided_slice"(%arg0) {axes = array<i64: 1>, begin = #relax.dims<[-1]>, end = #relax.dims<[-9223372036854775808]>, strides = array<i64: -1>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: @strided_slice_2(
// CHECK: "relax.strided_slice"(%arg0) {axes = array<i64: 1>, begin = #relax.dims<[1]>, end = #relax.dims<[-1]>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "max(0, m - 2)"]>>
func.func @strided_slice_2(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "max(0, m - 2)"]>> {
  %0 = "relax.strided_slice"(%arg0) {axes = array<i64: 1>, begin = #relax.dims<[1]>, end = #relax.dims<[-1]>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "max(0, m - 2)"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n", "max(0, m - 2)"]>>
}

// CHECK-LABEL: @pairs_first(
// CHECK: "relax.strided_slice"(%arg0) {axes = array<i64: 0>, begin = #relax.dims<[0]>, end = #relax.dims<[-1]>, strides = array<i64: 2>} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n // 2", 3]>>
func.func @pairs_first(%arg0: tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n // 2", 3]>> {
  %0 = "relax.strided_slice"(%arg0) {axes = array<i64: 0>, begin = #relax.dims<[0]>, end = #relax.dims<[-1]>, strides = array<i64: 2>} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n // 2", 3]>>
  return %0 : tensor<?x3xf32, #relax.dims<["n // 2", 3]>>
}

// CHECK-LABEL: @pairs_second(
// CHECK: "relax.strided_slice"(%arg0) {axes = array<i64: 0>, begin = #relax.dims<[1]>, end = #relax.dims<[9223372036854775807]>, strides = array<i64: 2>} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n // 2", 3]>>
func.func @pairs_second(%arg0: tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n // 2", 3]>> {
  %0 = "relax.strided_slice"(%arg0) {axes = array<i64: 0>, begin = #relax.dims<[1]>, end = #relax.dims<[9223372036854775807]>, strides = array<i64: 2>} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n // 2", 3]>>
  return %0 : tensor<?x3xf32, #relax.dims<["n // 2", 3]>>
}

// CHECK-LABEL: @pad(
// CHECK: "relax.pad"(%arg0) {pads = array<i64: 1, 2, 3, 0>, value = 1.500000e+00 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n + 4", "m + 2"]>>
func.func @pad(%arg0: tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n + 4", "m + 2"]>> {
  %0 = "relax.pad"(%arg0) {pads = array<i64: 1, 2, 3, 0>, value = 1.500000e+00 : f64} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n + 4", "m + 2"]>>
  return %0 : tensor<?x?xf32, #relax.dims<["n + 4", "m + 2"]>>
}

// CHECK-LABEL: @triu(
// CHECK: "relax.triu"(%arg0) : (tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>) -> tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>
func.func @triu(%arg0: tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>) -> tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>> {
  %0 = "relax.triu"(%arg0) : (tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>) -> tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>
  return %0 : tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>
}

// CHECK-LABEL: @tril(
// CHECK: "relax.tril"(%arg0) : (tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>) -> tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>
func.func @tril(%arg0: tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>) -> tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>> {
  %0 = "relax.tril"(%arg0) : (tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>) -> tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>
  return %0 : tensor<?x?x7xf32, #relax.dims<["n", "m", 7]>>
}

// relax-rotate-halves: concat(-x[h:], x[:h]) as elements that are taken in another order, times -1 and 1.
// RUN: legato-opt %s --relax-rotate-halves | filecheck %s

// CHECK-LABEL: func.func @rotated
// CHECK-DAG: %[[P:.*]] = "relax.constant"() {value = dense<[2, 3, 0, 1]> : tensor<4xi64>}
// CHECK: %[[T:.*]] = "relax.take"(%arg0, %[[P]]) {axis = 1 : i64}
// CHECK: %[[S:.*]] = "relax.constant"() {value = dense<[-1.0{{.*}}, -1.0{{.*}}, 1.0{{.*}}, 1.0{{.*}}]> : tensor<4xf32>}
// CHECK-NEXT: %[[Y:.*]] = "relax.multiply"(%[[T]], %[[S]])
// CHECK-NOT: concat
// CHECK: return %[[Y]]
func.func @rotated(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %1 = "relax.strided_slice"(%x) {begin = #relax.dims<[-2]>, end = #relax.dims<[9223372036854775807]>, strides = array<i64: 1>, axes = array<i64: -1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %2 = "relax.negative"(%1) : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %3 = tensor.concat dim(1) %2, %0 : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %3 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// These stay: the first half negated, halves of two tensors, other parts, and along another axis.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: tensor.concat
// CHECK-NOT: relax.take
func.func @others(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %1 = "relax.strided_slice"(%x) {begin = #relax.dims<[2]>, end = #relax.dims<[4]>, axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %2 = "relax.negative"(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = tensor.concat dim(1) %2, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %4 = "relax.negative"(%1) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = "relax.strided_slice"(%y) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %6 = tensor.concat dim(1) %4, %5 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %7 = "relax.strided_slice"(%x) {begin = #relax.dims<[1]>, end = #relax.dims<[3]>, axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %8 = tensor.concat dim(1) %4, %7 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %9 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %10 = "relax.strided_slice"(%x) {begin = #relax.dims<[2]>, end = #relax.dims<[4]>, axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %11 = "relax.negative"(%10) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %12 = tensor.concat dim(0) %11, %9 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return %3, %6, %8, %12 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// RUN: legato-opt %s --relax-slice-parts | filecheck %s

// The second roll reads slices of the image, not of the first one's result.
// CHECK-LABEL: func.func @roll
// CHECK-DAG: %[[A:.*]] = "relax.strided_slice"(%arg0) {axes = array<i64: 0, 1>, begin = #relax.dims<[3, 2]>, end = #relax.dims<[8, 6]>, strides = array<i64: 1, 1>}
// CHECK-DAG: %[[B:.*]] = "relax.strided_slice"(%arg0) {axes = array<i64: 0, 1>, begin = #relax.dims<[0, 2]>, end = #relax.dims<[3, 6]>, strides = array<i64: 1, 1>}
// CHECK: %[[LEFT:.*]] = tensor.concat dim(0) %[[A]], %[[B]]
// CHECK: %[[RIGHT:.*]] = tensor.concat dim(0)
// CHECK: tensor.concat dim(1) %[[LEFT]], %[[RIGHT]]
func.func @roll(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[3]>, end = #relax.dims<[8]>} : (tensor<8x6xf32>) -> tensor<5x6xf32>
  %1 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[3]>} : (tensor<8x6xf32>) -> tensor<3x6xf32>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<5x6xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  %3 = "relax.strided_slice"(%2) {begin = #relax.dims<[2]>, end = #relax.dims<[6]>, axes = array<i64: 1>} : (tensor<8x6xf32>) -> tensor<8x4xf32>
  %4 = "relax.strided_slice"(%2) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: -1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %5 = tensor.concat dim(1) %3, %4 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
  return %5 : tensor<8x6xf32>
}

// A slice along the axis of the concatenation, one that walks backwards, and a concatenation that something else reads stay.
// CHECK-LABEL: func.func @kept
// CHECK: %[[C:.*]] = tensor.concat
// CHECK: "relax.strided_slice"(%[[C]])
// CHECK: "relax.strided_slice"(%[[C]])
// CHECK: %[[D:.*]] = tensor.concat
// CHECK: "relax.strided_slice"(%[[D]])
// CHECK: %[[E:.*]] = tensor.concat
// CHECK: "relax.strided_slice"(%[[E]])
func.func @kept(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<8x2xf32>, tensor<3x6xf32>, tensor<8x6xf32>, tensor<8x2xf32>, tensor<4x4xf32>) {
  %0 = tensor.concat dim(0) %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "relax.strided_slice"(%0) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %2 = "relax.strided_slice"(%0) {begin = #relax.dims<[2]>, end = #relax.dims<[5]>, axes = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<3x6xf32>
  %3 = tensor.concat dim(0) %y, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %4 = "relax.strided_slice"(%3) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  %5 = tensor.concat dim(1) %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %6 = "relax.strided_slice"(%5) {begin = #relax.dims<[4]>, end = #relax.dims<[0]>, strides = array<i64: -1>, axes = array<i64: 1>} : (tensor<4x12xf32>) -> tensor<4x4xf32>
  return %1, %2, %3, %4, %6 : tensor<8x2xf32>, tensor<3x6xf32>, tensor<8x6xf32>, tensor<8x2xf32>, tensor<4x4xf32>
}

// Two slices along one axis, and one of a slice that walks backwards, stay two.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-4: "relax.strided_slice"
// CHECK: return
func.func @two(%x: tensor<8x6xf32>) -> (tensor<2x6xf32>, tensor<8x2xf32>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[1]>, end = #relax.dims<[7]>, axes = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<6x6xf32>
  %1 = "relax.strided_slice"(%0) {begin = #relax.dims<[2]>, end = #relax.dims<[4]>, axes = array<i64: 0>} : (tensor<6x6xf32>) -> tensor<2x6xf32>
  %2 = "relax.strided_slice"(%x) {begin = #relax.dims<[7]>, end = #relax.dims<[-9]>, strides = array<i64: -1>, axes = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = "relax.strided_slice"(%2) {begin = #relax.dims<[2]>, end = #relax.dims<[4]>, axes = array<i64: 1>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  return %1, %3 : tensor<2x6xf32>, tensor<8x2xf32>
}

// RUN: legato-opt %s --relax-turn-short-rows="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-turn-short-rows="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2

// CHECK-LABEL: func.func @boxes
// CHECK: %[[M:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<?x2xf32, #relax.dims<["n * 8400", 2]>>
// CHECK: %[[C:.*]] = "relax.permute_dims"(%[[M]]) {axes = array<i64: 1, 0>}
// CHECK: %[[S:.*]] = "relax.softmax"(%[[C]]) {axis = 0 : i64}
// CHECK: %[[R:.*]] = "relax.permute_dims"(%[[S]]) {axes = array<i64: 1, 0>}
// CHECK: %[[Y:.*]] = "relax.reshape"(%[[R]]) {{.*}} -> tensor<?x8400x2xf32, #relax.dims<["n", 8400, 2]>>
// CHECK: return %[[Y]]
func.func @boxes(%x: tensor<?x8400x2xf32, #relax.dims<["n", 8400, 2]>>) -> tensor<?x8400x2xf32, #relax.dims<["n", 8400, 2]>> {
  %0 = "relax.softmax"(%x) {axis = 2 : i64} : (tensor<?x8400x2xf32, #relax.dims<["n", 8400, 2]>>) -> tensor<?x8400x2xf32, #relax.dims<["n", 8400, 2]>>
  return %0 : tensor<?x8400x2xf32, #relax.dims<["n", 8400, 2]>>
}

// Rows of 9 fill a vector of AVX2.
// CHECK-LABEL: func.func @nine
// CHECK: "relax.log_softmax"(%{{.*}}) {axis = 0 : i64} : (tensor<9x100xf32>)
// AVX2-LABEL: func.func @nine
// AVX2: "relax.log_softmax"(%arg0) {axis = -1 : i64}
func.func @nine(%x: tensor<100x9xf32>) -> tensor<100x9xf32> {
  %0 = "relax.log_softmax"(%x) {axis = -1 : i64} : (tensor<100x9xf32>) -> tensor<100x9xf32>
  return %0 : tensor<100x9xf32>
}

// Of the greatest or least element only the place is left of a row.
// CHECK-LABEL: func.func @places
// CHECK: %[[M:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<600x7xf32>
// CHECK: %[[C:.*]] = "relax.permute_dims"(%[[M]]) {axes = array<i64: 1, 0>}
// CHECK: %[[P:.*]] = "relax.argmax"(%[[C]]) {axis = 0 : i64, select_last = true} : (tensor<7x600xf32>) -> tensor<600xi64>
// CHECK: %[[Y:.*]] = "relax.reshape"(%[[P]]) {{.*}} -> tensor<6x100x1xi64>
// CHECK: %[[N:.*]] = "relax.argmin"(%{{.*}}) {axis = 0 : i64} : (tensor<4x100xf32>) -> tensor<100xi64>
// CHECK: return %[[Y]], %[[N]]
func.func @places(%x: tensor<6x100x7xf32>, %y: tensor<100x4xf32>) -> (tensor<6x100x1xi64>, tensor<100xi64>) {
  %0 = "relax.argmax"(%x) {axis = 2 : i64, keepdims = true, select_last = true} : (tensor<6x100x7xf32>) -> tensor<6x100x1xi64>
  %1 = "relax.argmin"(%y) {axis = -1 : i64} : (tensor<100x4xf32>) -> tensor<100xi64>
  return %0, %1 : tensor<6x100x1xi64>, tensor<100xi64>
}

// Rows of three elements are compared side by side as they are.
// CHECK-LABEL: func.func @three
// CHECK-NOT: permute_dims
// CHECK: return
func.func @three(%x: tensor<600x3xf32>) -> tensor<600xi64> {
  %0 = "relax.argmax"(%x) {axis = 1 : i64} : (tensor<600x3xf32>) -> tensor<600xi64>
  return %0 : tensor<600xi64>
}

// Few rows, perhaps few, long ones, and columns stay.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: permute_dims
// CHECK: return
func.func @stay(%x: tensor<8x4xf32>, %y: tensor<?x4xf32, #relax.dims<["n", 4]>>, %z: tensor<100x16xf32>, %w: tensor<4x100xf32>)
    -> (tensor<8x4xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<100x16xf32>, tensor<4x100xf32>) {
  %0 = "relax.softmax"(%x) {axis = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "relax.softmax"(%y) {axis = 1 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %2 = "relax.softmax"(%z) {axis = 1 : i64} : (tensor<100x16xf32>) -> tensor<100x16xf32>
  %3 = "relax.softmax"(%w) {axis = 0 : i64} : (tensor<4x100xf32>) -> tensor<4x100xf32>
  return %0, %1, %2, %3 : tensor<8x4xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<100x16xf32>, tensor<4x100xf32>
}

// relax-combine-parallel-matmuls: queries, keys and values by one product, of which each reads its heads.
// RUN: legato-opt %s --split-input-file --relax-combine-parallel-matmuls | filecheck %s

// Biases go along: where there is none, it is -0, which changes no number.
// CHECK-LABEL: func.func @heads
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{\[\[}}1.0{{.*}}, 1.0{{.*}}, 1.0{{.*}}, 1.0{{.*}}, 2.0{{.*}}, 2.0{{.*}}, 3.0{{.*}}, 3.0{{.*}}> : tensor<3x8xf32>}
// CHECK: %[[Y:.*]] = "relax.matmul"(%arg0, %[[W]])
// CHECK: %[[B:.*]] = "relax.constant"() {value = dense<[4.0{{.*}}, 4.0{{.*}}, 4.0{{.*}}, 4.0{{.*}}, -0.0{{.*}}, -0.0{{.*}}, 5.0{{.*}}, 5.0{{.*}}]> : tensor<8xf32>}
// CHECK: %[[Z:.*]] = "relax.add"(%[[Y]], %[[B]])
// CHECK: %[[H:.*]] = "relax.reshape"(%[[Z]]) {shape = #relax.dims<["n", 5, 4, 2]>}
// CHECK: %[[Q:.*]] = "relax.strided_slice"(%[[H]]) {axes = array<i64: 2>, begin = {{.*}}0{{.*}}, end = {{.*}}2{{.*}}, strides = {{.*}}} : {{.*}} -> tensor<?x5x2x2xf32
// CHECK: %[[K:.*]] = "relax.strided_slice"(%[[H]]) {axes = array<i64: 2>, begin = {{.*}}2{{.*}}, end = {{.*}}3{{.*}}, strides = {{.*}}} : {{.*}} -> tensor<?x5x1x2xf32
// CHECK: %[[C:.*]] = "relax.strided_slice"(%[[H]]) {axes = array<i64: 2>, begin = {{.*}}3{{.*}}, end = {{.*}}4{{.*}}, strides = {{.*}}} : {{.*}} -> tensor<?x5x1x2xf32
// CHECK: %[[V:.*]] = "relax.reshape"(%[[C]]) {shape = #relax.dims<["n", 5, 1, 1, 2]>}
// CHECK-NOT: relax.matmul
// CHECK: return %[[Q]], %[[K]], %[[V]]
func.func @heads(%x: tensor<?x3xf32, #relax.dims<["n * 5", 3]>>) -> (tensor<?x5x2x2xf32, #relax.dims<["n", 5, 2, 2]>>,
    tensor<?x5x1x2xf32, #relax.dims<["n", 5, 1, 2]>>, tensor<?x5x1x1x2xf32, #relax.dims<["n", 5, 1, 1, 2]>>) {
  %q = "relax.constant"() {value = dense<1.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %k = "relax.constant"() {value = dense<2.0> : tensor<3x2xf32>} : () -> tensor<3x2xf32>
  %v = "relax.constant"() {value = dense<3.0> : tensor<3x2xf32>} : () -> tensor<3x2xf32>
  %qb = "relax.constant"() {value = dense<4.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %vb = "relax.constant"() {value = dense<5.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "relax.matmul"(%x, %q) : (tensor<?x3xf32, #relax.dims<["n * 5", 3]>>, tensor<3x4xf32>) -> tensor<?x4xf32, #relax.dims<["n * 5", 4]>>
  %1 = "relax.add"(%0, %qb) : (tensor<?x4xf32, #relax.dims<["n * 5", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n * 5", 4]>>
  %2 = "relax.reshape"(%1) {shape = #relax.dims<["n", 5, 4]>} : (tensor<?x4xf32, #relax.dims<["n * 5", 4]>>) -> tensor<?x5x4xf32, #relax.dims<["n", 5, 4]>>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<["n", 5, 2, 2]>} : (tensor<?x5x4xf32, #relax.dims<["n", 5, 4]>>) -> tensor<?x5x2x2xf32, #relax.dims<["n", 5, 2, 2]>>
  %4 = "relax.matmul"(%x, %k) : (tensor<?x3xf32, #relax.dims<["n * 5", 3]>>, tensor<3x2xf32>) -> tensor<?x2xf32, #relax.dims<["n * 5", 2]>>
  %5 = "relax.reshape"(%4) {shape = #relax.dims<["n", 5, 1, 2]>} : (tensor<?x2xf32, #relax.dims<["n * 5", 2]>>) -> tensor<?x5x1x2xf32, #relax.dims<["n", 5, 1, 2]>>
  %6 = "relax.matmul"(%x, %v) : (tensor<?x3xf32, #relax.dims<["n * 5", 3]>>, tensor<3x2xf32>) -> tensor<?x2xf32, #relax.dims<["n * 5", 2]>>
  %7 = "relax.add"(%vb, %6) : (tensor<2xf32>, tensor<?x2xf32, #relax.dims<["n * 5", 2]>>) -> tensor<?x2xf32, #relax.dims<["n * 5", 2]>>
  %8 = "relax.reshape"(%7) {shape = #relax.dims<["n", 5, 1, 1, 2]>} : (tensor<?x2xf32, #relax.dims<["n * 5", 2]>>) -> tensor<?x5x1x1x2xf32, #relax.dims<["n", 5, 1, 1, 2]>>
  return %3, %5, %8 : tensor<?x5x2x2xf32, #relax.dims<["n", 5, 2, 2]>>, tensor<?x5x1x2xf32, #relax.dims<["n", 5, 1, 2]>>, tensor<?x5x1x1x2xf32, #relax.dims<["n", 5, 1, 1, 2]>>
}

// -----

// These stay: heads of another size, what is no matrix of heads, a weight or a result that something else reads, and other rows.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-6: "relax.matmul"(
// CHECK-NOT: relax.strided_slice
func.func @others(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>)
    -> (tensor<2x2x2xf32>, tensor<2x1x4xf32>, tensor<2x4xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x4xf32>, tensor<2x2x2xf32>, tensor<3x4xf32>) {
  %a = "relax.constant"() {value = dense<1.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %b = "relax.constant"() {value = dense<2.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %c = "relax.constant"() {value = dense<3.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %d = "relax.constant"() {value = dense<4.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %e = "relax.constant"() {value = dense<5.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %f = "relax.constant"() {value = dense<6.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %0 = "relax.matmul"(%x, %a) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[2, 2, 2]>} : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
  %2 = "relax.matmul"(%x, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<[2, 1, 4]>} : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  %4 = "relax.matmul"(%x, %c) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %5 = "relax.matmul"(%x, %d) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %6 = "relax.reshape"(%5) {shape = #relax.dims<[2, 2, 2]>} : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
  %7 = "relax.matmul"(%x, %e) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %8 = "relax.reshape"(%7) {shape = #relax.dims<[2, 2, 2]>} : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
  %9 = "relax.matmul"(%y, %f) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %10 = "relax.reshape"(%9) {shape = #relax.dims<[2, 2, 2]>} : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
  return %1, %3, %4, %6, %8, %7, %10, %d
    : tensor<2x2x2xf32>, tensor<2x1x4xf32>, tensor<2x4xf32>, tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x4xf32>, tensor<2x2x2xf32>, tensor<3x4xf32>
}

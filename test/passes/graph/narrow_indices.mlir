// RUN: legato-opt %s --split-input-file --relax-narrow-indices | filecheck %s
// Constant indices of 64 bits that fit 32 have so many, once for all that read at them.

// CHECK-LABEL: func.func @main
// CHECK: %[[SHORT:.*]] = "relax.constant"() {value = dense<{{\[}}1, -1]> : tensor<2xi32>}
// CHECK-NOT: -> tensor<2xi64>
// CHECK: "relax.take"(%arg0, %[[SHORT]]) {{.*}}(tensor<4x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>
// CHECK: "relax.take"(%arg0, %[[SHORT]]) {{.*}}(tensor<4x5xf32>, tensor<2xi32>) -> tensor<4x2xf32>
func.func @main(%x: tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<4x2xf32>) {
  %i = "relax.constant"() {value = dense<[1, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  %1 = "relax.take"(%x, %i) {axis = 1 : i64} : (tensor<4x5xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return %0, %1 : tensor<2x5xf32>, tensor<4x2xf32>
}

// -----

// What the model computes with them stays, and so do inputs.
// CHECK-LABEL: func.func @main
// CHECK: %[[SHORT:.*]] = "relax.constant"() {{{.*}}} : () -> tensor<1x2xi32>
// CHECK: %[[LONG:.*]] = "relax.constant"() {{{.*}}} : () -> tensor<1x2xi64>
// CHECK: "relax.gather_elements"(%arg0, %[[SHORT]])
// CHECK: "relax.take"(%arg0, %arg1)
// CHECK: "relax.add"(%arg2, %[[LONG]])
func.func @main(%x: tensor<4x5xf32>, %j: tensor<3xi64>, %k: tensor<1x2xi64>) -> (tensor<1x2xf32>, tensor<3x5xf32>, tensor<1x2xi64>) {
  %i = "relax.constant"() {value = dense<[[0, 3]]> : tensor<1x2xi64>} : () -> tensor<1x2xi64>
  %0 = "relax.gather_elements"(%x, %i) {axis = 1 : i64} : (tensor<4x5xf32>, tensor<1x2xi64>) -> tensor<1x2xf32>
  %1 = "relax.take"(%x, %j) {axis = 0 : i64} : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<3x5xf32>
  %2 = "relax.add"(%k, %i) : (tensor<1x2xi64>, tensor<1x2xi64>) -> tensor<1x2xi64>
  return %0, %1, %2 : tensor<1x2xf32>, tensor<3x5xf32>, tensor<1x2xi64>
}

// RUN: legato-opt %s --relax-weigh-rows="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-weigh-rows="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2

// A linear resize of rows, of two taps; the image behind the channels is added as before.
// CHECK-LABEL: func.func @linear
// CHECK: %[[X:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<?x4x6xf32, #relax.dims<["n * 3", 4, 6]>>
// CHECK: %[[I:.*]] = "relax.constant"() {value = dense<{{\[\[\[}}0, 2], [1, 3]]]> : tensor<1x2x2xi64>}
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{\[\[\[}}2.500000e-01, 5.000000e-01], [7.500000e-01, 5.000000e-01]]]> : tensor<1x2x2xf32>}
// CHECK: %[[G:.*]] = "relax.gather_weighted"(%[[X]], %[[I]], %[[W]]) {{.*}} -> tensor<?x2x6xf32, #relax.dims<["n * 3", 2, 6]>>
// CHECK: %[[Y:.*]] = "relax.reshape"(%[[G]]) {{.*}} -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
// CHECK: %[[S:.*]] = "relax.add"(%[[Y]], %arg1)
// CHECK: return %[[S]]
func.func @linear(%x: tensor<?x3x4x6xf32, #relax.dims<["n", 3, 4, 6]>>, %r: tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>)
    -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>> {
  %i = "relax.constant"() {value = dense<[0, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %j = "relax.constant"() {value = dense<[1, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
  %v = "relax.constant"() {value = dense<[[0.25], [0.5]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %w = "relax.constant"() {value = dense<[[0.75], [0.5]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %0 = "relax.take"(%x, %i) {axis = 2 : i64} : (tensor<?x3x4x6xf32, #relax.dims<["n", 3, 4, 6]>>, tensor<2xi64>) -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
  %1 = "relax.take"(%x, %j) {axis = 2 : i64} : (tensor<?x3x4x6xf32, #relax.dims<["n", 3, 4, 6]>>, tensor<2xi64>) -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
  %2 = "relax.multiply"(%0, %v) : (tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>, tensor<2x1xf32>) -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
  %3 = "relax.multiply"(%w, %1) : (tensor<2x1xf32>, tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>) -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
  %4 = "relax.add"(%2, %3) : (tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>, tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>) -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
  %5 = "relax.add"(%4, %r) : (tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>, tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>) -> tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
  return %5 : tensor<?x3x2x6xf32, #relax.dims<["n", 3, 2, 6]>>
}

// Rows of weight 0 that are not read: the other tap is two halves. Without masks for halves, AVX2 reads rows of whole vectors only.
// CHECK-LABEL: func.func @left_out
// CHECK: dense<{{\[\[\[}}1, 3], [1, 2]]]> : tensor<1x2x2xi64>
// CHECK: dense<{{\[\[\[}}5.000000e-01, 2.500000e-01], [5.000000e-01, 7.500000e-01]]]> : tensor<1x2x2xf32>
// CHECK: "relax.gather_weighted"{{.*}} -> tensor<1x2x6xf16>
// AVX2-LABEL: func.func @left_out
// AVX2-NOT: "relax.gather_weighted"
func.func @left_out(%x: tensor<4x6xf16>) -> tensor<2x6xf16> {
  %i = "relax.constant"() {value = dense<[0, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
  %j = "relax.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %v = "relax.constant"() {value = dense<[[0.0], [0.25]]> : tensor<2x1xf16>} : () -> tensor<2x1xf16>
  %w = "relax.constant"() {value = dense<[[1.0], [0.75]]> : tensor<2x1xf16>} : () -> tensor<2x1xf16>
  %m = "relax.constant"() {value = dense<[[true], [false]]> : tensor<2x1xi1>} : () -> tensor<2x1xi1>
  %z = "relax.constant"() {value = dense<0.0> : tensor<f16>} : () -> tensor<f16>
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<4x6xf16>, tensor<2xi64>) -> tensor<2x6xf16>
  %1 = "relax.take"(%x, %j) {axis = 0 : i64} : (tensor<4x6xf16>, tensor<2xi64>) -> tensor<2x6xf16>
  %2 = "relax.multiply"(%0, %v) : (tensor<2x6xf16>, tensor<2x1xf16>) -> tensor<2x6xf16>
  %3 = "relax.where"(%m, %z, %2) : (tensor<2x1xi1>, tensor<f16>, tensor<2x6xf16>) -> tensor<2x6xf16>
  %4 = "relax.multiply"(%1, %w) : (tensor<2x6xf16>, tensor<2x1xf16>) -> tensor<2x6xf16>
  %5 = "relax.add"(%3, %4) : (tensor<2x6xf16>, tensor<2x6xf16>) -> tensor<2x6xf16>
  return %5 : tensor<2x6xf16>
}

// Not of two tensors, nor with weights that vary along rows, nor of integers, nor along the last axis.
// CHECK-LABEL: func.func @others
// CHECK-NOT: "relax.gather_weighted"
func.func @others(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>, %n: tensor<4x2xi32>, %v: tensor<2x1xf32>)
    -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<4x2xf32>) {
  %i = "relax.constant"() {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %w = "relax.constant"() {value = dense<[[0.75], [0.5]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %r = "relax.constant"() {value = dense<[0.75, 0.5]> : tensor<2xf32>} : () -> tensor<2xf32>
  %two = "relax.constant"() {value = dense<2> : tensor<2x1xi32>} : () -> tensor<2x1xi32>
  %0 = "relax.take"(%x, %i) {axis = 0 : i64} : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = "relax.take"(%y, %i) {axis = 0 : i64} : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %2 = "relax.multiply"(%0, %w) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %3 = "relax.multiply"(%1, %w) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %4 = "relax.add"(%2, %3) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = "relax.multiply"(%0, %r) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %6 = "relax.add"(%2, %5) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = "relax.take"(%n, %i) {axis = 0 : i64} : (tensor<4x2xi32>, tensor<2xi64>) -> tensor<2x2xi32>
  %8 = "relax.multiply"(%7, %two) : (tensor<2x2xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %9 = "relax.add"(%8, %8) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %10 = "relax.take"(%x, %i) {axis = 1 : i64} : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  %11 = "relax.multiply"(%10, %r) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %12 = "relax.add"(%11, %11) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %4, %6, %9, %12 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<4x2xf32>
}

// RUN: legato-opt %s --split-input-file --relax-fold-constants | filecheck %s
// RUN: legato-opt %s --split-input-file --relax-fold-constants=max-bytes=40 | filecheck %s --check-prefix=SMALL

// A chain of constants is one constant; what it was made of is gone.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %[[C:.*]] = "relax.constant"() {value = dense<[4.000000e+00, 5.000000e+00]> : tensor<2xf32>}
// CHECK-NEXT: "relax.add"(%arg0, %[[C]])
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "relax.constant"() {value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %b = "relax.constant"() {value = dense<3.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<2x1xf32>) -> tensor<1x2xf32>
  %1 = "relax.add"(%0, %b) : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>
  %2 = "relax.constant"() {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %3 = "relax.squeeze"(%1) {axis = array<i64: 0>} : (tensor<1x2xf32>) -> tensor<2xf32>
  %4 = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %5 = "relax.subtract"(%3, %4) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %6 = tensor.concat dim(0) %5, %5 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %7 = "relax.strided_slice"(%6) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>} : (tensor<4xf32>) -> tensor<2xf32>
  %8 = "relax.add"(%7, %4) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %9 = "relax.add"(%x, %8) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %9 : tensor<2xf32>
}

// -----

// A result larger than its operands and than the option allows is left to be made at run time.
// CHECK-LABEL: func.func @grows
// CHECK: dense<2.000000e+00> : tensor<4x4xf32>
// SMALL-LABEL: func.func @grows
// SMALL: "relax.broadcast_to"
func.func @grows() -> tensor<4x4xf32> {
  %a = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.broadcast_to"(%a) {shape = #relax.dims<[4, 4]>} : (tensor<f32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// What needs the value of a symbol cannot be known; its constant stays.
// CHECK-LABEL: func.func @symbolic
// CHECK: "relax.constant"
// CHECK: "relax.broadcast_to"
func.func @symbolic(%x: tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>> {
  %a = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.broadcast_to"(%a) {shape = #relax.dims<["n"]>} : (tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %0 : tensor<?xf32, #relax.dims<["n"]>>
}

// -----

// In a branch, of constants in it and in front of it.
// CHECK-LABEL: func.func @in_a_branch
// CHECK: scf.if
// CHECK-NEXT: %[[C:.*]] = "relax.constant"() {value = dense<5.000000e+00>
// CHECK-NEXT: "relax.add"(%arg0, %[[C]])
func.func @in_a_branch(%x: tensor<f32>, %c: i1) -> tensor<f32> {
  %a = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %r = scf.if %c -> (tensor<f32>) {
    %b = "relax.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
    %0 = "relax.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = "relax.add"(%x, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    scf.yield %1 : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// Where a slice of a constant begins is known at the call.
// CHECK-LABEL: func.func @place
// CHECK: "relax.strided_slice"(%{{.*}}) {begin = #relax.dims<["n"]>, end = #relax.dims<["n + 2"]>}
func.func @place(%x: tensor<?xf32, #relax.dims<["n"]>>) -> tensor<2xf32> {
  %a = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>} : () -> tensor<5xf32>
  %0 = "relax.strided_slice"(%a) {begin = #relax.dims<["n"]>, end = #relax.dims<["n + 2"]>} : (tensor<5xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Random bits of a known key are known; many of them are not stored.
// CHECK-LABEL: func.func @bits
// CHECK-DAG: "relax.constant"() {value = dense<[2895194379, 4185947648]> : tensor<2xui32>}
// CHECK-DAG: %[[KEY:.*]] = "relax.constant"() {value = dense<15389220101028177230> : tensor<ui64>}
// CHECK: "relax.random_bits"(%[[KEY]]) {shape = #relax.dims<[1024, 1024]>}
func.func @bits() -> (tensor<2xui32>, tensor<1024x1024xui32>) {
  %key = "relax.constant"() {value = dense<7> : tensor<ui64>} : () -> tensor<ui64>
  %number = "relax.constant"() {value = dense<5> : tensor<ui64>} : () -> tensor<ui64>
  %0 = "relax.random_bits"(%key) {shape = #relax.dims<[2]>} : (tensor<ui64>) -> tensor<2xui32>
  %other = "relax.fold_in"(%key, %number) : (tensor<ui64>, tensor<ui64>) -> tensor<ui64>
  %1 = "relax.random_bits"(%other) {shape = #relax.dims<[1024, 1024]>} : (tensor<ui64>) -> tensor<1024x1024xui32>
  return %0, %1 : tensor<2xui32>, tensor<1024x1024xui32>
}

// RUN: legato-opt %s --split-input-file --relax-legalize=target=generic | filecheck %s
// Graph ops become calls of prim_funcs, in destination-passing style; equal ones share a kernel; encodings are gone afterwards.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32> {relax.name = "x"}
// CHECK-SAME: relax.signature = (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
// CHECK: %[[N:.*]] = tensor.dim %[[X]]
// CHECK: %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?x4xf32>
// CHECK: %[[A:.*]] = call @kernel_exp(%[[X]], %[[E]])
// CHECK: call @kernel_exp(%[[A]], %{{.*}})
// CHECK-NOT: relax.exp
// CHECK-LABEL: func.func private @kernel_exp(
// CHECK-SAME: tensor<?x4xf32> {bufferization.writable = true, tir.out}) -> tensor<?x4xf32> attributes {tir.prim_func}
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NOT: func.func private @kernel_exp_
func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>> {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %1 = "relax.exp"(%0) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// -----

// A constant whose elements are all equal goes into the kernel; booleans lie in memory as bytes.
// CHECK-LABEL: func.func @splat(
// CHECK: call @kernel_greater(%arg0, %{{.*}}) {relax.ops = ["relax.greater"]} : (tensor<3xf32>, tensor<3xi8>) -> tensor<3xi8>
// CHECK: return %{{.*}} : tensor<3xi8>
// CHECK-LABEL: func.func private @kernel_greater(%arg0: tensor<3xf32>, %arg1: tensor<3xi8>
// CHECK: arith.constant dense<2.000000e+00>
func.func @splat(%x: tensor<3xf32>) -> tensor<3xi1> {
  %c = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.greater"(%x, %c) : (tensor<3xf32>, tensor<f32>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// -----

// A dimension that an attribute names reaches the kernel as an index argument.
// CHECK-LABEL: func.func @symbol_in_attribute(
// CHECK: call @kernel_strided_slice(%arg0, %{{.*}}, %{{.*}}) {relax.ops = ["relax.strided_slice"]} : (tensor<9x?xf32>, index, tensor<9x?xf32>) -> tensor<9x?xf32>
func.func @symbol_in_attribute(%x: tensor<9x?xf32, #relax.dims<[9, "n"]>>) -> tensor<9x?xf32, #relax.dims<[9, "n // 2"]>> {
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<["n // 2"]>} : (tensor<9x?xf32, #relax.dims<[9, "n"]>>) -> tensor<9x?xf32, #relax.dims<[9, "n // 2"]>>
  return %0 : tensor<9x?xf32, #relax.dims<[9, "n // 2"]>>
}

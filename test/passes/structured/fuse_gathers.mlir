// tir-fuse{gathers=true}: what takes its elements from computed places joins the elementwise kernel behind it, of the same shape.
// RUN: legato-opt %s --split-input-file --relax-legalize=target=generic --cse --tir-fuse=gathers=true --symbol-dce --canonicalize --linalg-fuse-elementwise-ops --canonicalize --cse --tir-tie-outputs | filecheck %s
// RUN: legato-opt %s --split-input-file --relax-legalize=target=generic --cse --tir-fuse --symbol-dce | filecheck %s --check-prefix=NONE
// NONE-NOT: @fused_take

// CHECK-LABEL: func.func @added(
// CHECK: call @fused_take_add(
// CHECK: func.func private @fused_take_add(
// CHECK: linalg.generic
// CHECK: %[[X:.*]] = tensor.extract
// CHECK: arith.addf %[[X]]
// CHECK-NOT: linalg.generic
func.func @added(%x: tensor<9x8xf32>, %places: tensor<4xi64>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "relax.take"(%x, %places) : (tensor<9x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %1 = "relax.add"(%0, %y) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Not what is in front of it, which it would compute again, and not a reduction behind it, which reads each element several times.
// CHECK-LABEL: func.func @others(
// CHECK: call @kernel_negative
// CHECK: call @kernel_take
// CHECK: call @kernel_softmax
func.func @others(%x: tensor<4x8xf32>, %places: tensor<4xi64>) -> tensor<4x8xf32> {
  %0 = "relax.negative"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.take"(%0, %places) : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  %2 = "relax.softmax"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Slices, too, each reader for itself; also into a kernel behind a contraction, which is joined to that.
// CHECK-LABEL: func.func @slices(
// CHECK-NOT: call @kernel
// CHECK: call @fused_strided_slice_sigmoid_strided_slice_multiply(%arg0, %{{[0-9]+}})
// CHECK: call @fused_strided_slice_add(%arg0, %arg1,
// CHECK: call @fused_strided_slice_matmul_add(%arg0, %arg1, %arg2,
func.func @slices(%x: tensor<4x64xf32>, %y: tensor<4x16xf32>, %w: tensor<16x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %a = "relax.strided_slice"(%x) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[16]>} : (tensor<4x64xf32>) -> tensor<4x16xf32>
  %b = "relax.strided_slice"(%x) {axes = array<i64: 1>, begin = #relax.dims<[16]>, end = #relax.dims<[32]>} : (tensor<4x64xf32>) -> tensor<4x16xf32>
  %c = "relax.strided_slice"(%x) {axes = array<i64: 1>, begin = #relax.dims<[32]>, end = #relax.dims<[48]>} : (tensor<4x64xf32>) -> tensor<4x16xf32>
  %0 = "relax.sigmoid"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = "relax.multiply"(%0, %b) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = "relax.add"(%b, %y) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = "relax.matmul"(%y, %w) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  %4 = "relax.add"(%3, %c) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1, %2, %4 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// And into a reduction, which reads them in their order.
// CHECK-LABEL: func.func @reduced(
// CHECK-NOT: call @kernel
// CHECK: call @fused_strided_slice_softmax(%arg0,
func.func @reduced(%x: tensor<4x64xf32>) -> tensor<4x16xf32> {
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 1>, begin = #relax.dims<[16]>, end = #relax.dims<[32]>} : (tensor<4x64xf32>) -> tensor<4x16xf32>
  %1 = "relax.softmax"(%0) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// RUN: legato-opt %s --split-input-file --load %S/inputs/npu.py --relax-fuse-by-pattern=backend=npu | filecheck %s
// RUN: not legato-opt %s --split-input-file --load %S/inputs/npu.py --relax-fuse-by-pattern=backend=npo 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown backend 'npo'; did you mean 'npu'?

// The longest pattern takes the convolution, its bias and the relu, and binds the constants; the rest stays.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[Y:.*]] = call @npu_conv2d_relu_0(%arg0) : (tensor<1x3x8x8xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%[[Y]])
// CHECK-NEXT: return %[[E]]
// CHECK: func.func private @npu_conv2d_relu_0(%arg0: tensor<1x3x8x8xf32>) -> tensor<1x4x6x6xf32> attributes {relax.codegen = "npu", relax.composite = "npu.conv2d_relu"}
// CHECK-NEXT: "relax.constant"() {value = dense<1.000000e+00>
// CHECK-NEXT: "relax.constant"() {value = dense<2.0
// CHECK-NEXT: "relax.conv2d"(%arg0,
// CHECK-NEXT: "relax.add"
// CHECK-NEXT: "relax.relu"
// CHECK-NEXT: return
func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x6x6xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %b = "relax.constant"() {value = dense<2.0> : tensor<4x1x1xf32>} : () -> tensor<4x1x1xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = "relax.add"(%b, %0) : (tensor<4x1x1xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %2 = "relax.relu"(%1) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %3 = "relax.exp"(%2) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %3 : tensor<1x4x6x6xf32>
}

// -----

// Where a value in the middle is read outside too, the shorter pattern takes what ends there.
// CHECK-LABEL: func.func @read_outside(
// CHECK-NEXT: %[[Y:.*]] = call @npu_conv2d_0(%arg0)
// CHECK-NEXT: %[[R:.*]] = "relax.relu"(%[[Y]])
// CHECK-NEXT: return %[[Y]], %[[R]]
// A grouped convolution is refused by the check.
// CHECK: func.func @grouped(
// CHECK: "relax.conv2d"
// CHECK-NOT: relax.composite = "npu.conv2d_relu"
func.func @read_outside(%x: tensor<1x3x8x8xf32>) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = "relax.relu"(%0) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %0, %1 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}
func.func @grouped(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x6x6xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4x2x3x3xf32>} : () -> tensor<4x2x3x3xf32>
  %0 = "relax.conv2d"(%x, %w) {groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

// -----

// Two results that share an input are one group; the relu between them moves after it.
// CHECK-LABEL: func.func @two_outputs(
// CHECK-NEXT: %[[G:.*]]:2 = call @npu_qk_0(%arg0)
// CHECK-NEXT: %[[R:.*]] = "relax.relu"
// CHECK-NEXT: return
func.func @two_outputs(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x2xf32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<8x8xf32>} : () -> tensor<8x8xf32>
  %v = "relax.constant"() {value = dense<1.0> : tensor<8x2xf32>} : () -> tensor<8x2xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.relu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "relax.matmul"(%x, %v) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x2xf32>
}

// -----

// Where one of the two reads what the other gives, by way of another op, they are not one group.
// CHECK-LABEL: func.func @no_cycle(
// CHECK: call @npu_matmul_0
// CHECK-NEXT: "relax.relu"
// CHECK-NEXT: "relax.add"
// CHECK: return
func.func @no_cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<8x8xf32>} : () -> tensor<8x8xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "relax.relu"(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = "relax.add"(%1, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// A kernel that does what the op does is matched too, by its body; one that does something else is not.
// CHECK-LABEL: func.func @kernels(
// CHECK: %[[M:.*]] = call @npu_matmul_0(%arg0) : (tensor<4x8xf32>) -> tensor<4x16xf32>
// CHECK: call @no_matmul(%[[M]],
// CHECK: func.func private @npu_matmul_0(%arg0: tensor<4x8xf32>)
// CHECK: tensor.empty
// CHECK: call @somebodys(
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @kernels(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<8x16xf32>} : () -> tensor<8x16xf32>
  %e = tensor.empty() : tensor<4x16xf32>
  %0 = call @somebodys(%x, %w, %e) : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %f = tensor.empty() : tensor<4x16xf32>
  %1 = call @no_matmul(%0, %f) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
func.func private @somebodys(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %out: tensor<4x16xf32> {tir.out}) -> tensor<4x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
func.func private @no_matmul(%x: tensor<4x16xf32>, %out: tensor<4x16xf32> {tir.out}) -> tensor<4x16xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<4x16xf32>) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

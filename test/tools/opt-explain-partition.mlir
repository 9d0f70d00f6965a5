// Which pattern took which op; which refused, and why; which could not even begin.
// RUN: legato-opt %s --load %S/../passes/partition/inputs/npu.py --relax-fuse-by-pattern=backend=npu --explain | filecheck %s
// RUN: legato-opt %s --load %S/../passes/partition/inputs/npu.py --relax-fuse-by-pattern=backend=npu --explain=json | filecheck %s --check-prefix=JSON

// CHECK: patterns of backends took 2 ops in 1 groups
// CHECK-NEXT: @npu_conv2d_relu_0 npu.conv2d_relu relax.conv2d "Conv_0", relax.relu "Relu_0"
// CHECK: not taken
// CHECK: npu.conv2d_relu: relax.relu "Relu_1": the result of relax.conv2d "Conv_1" is also read outside, by func.return
// CHECK: npu.conv2d: relax.conv2d "Conv_1": grouped convolutions are for the host
// CHECK: npu.qk: the graph has no relax.matmul that is not taken
// JSON: "partition": [
// JSON: "backend": "npu"
// JSON: "reason": "grouped convolutions are for the host"
func.func @main(%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4x4x3x3xf32>} : () -> tensor<4x4x3x3xf32>
  %v = "relax.constant"() {value = dense<1.0> : tensor<4x2x3x3xf32>} : () -> tensor<4x2x3x3xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32> loc("Conv_0")
  %1 = "relax.relu"(%0) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> loc("Relu_0")
  %2 = "relax.conv2d"(%1, %v) {groups = 2 : i64} : (tensor<1x4x6x6xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x4xf32> loc("Conv_1")
  %3 = "relax.relu"(%2) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc("Relu_1")
  return %2, %3 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}

// The worked case: after partitioning, one backend's convolutions change their layout and its constants are folded, the host's stay.
// RUN: legato-opt %s '--pass-pipeline=external<"npu">(relax-convert-layout{data-layout=NHWC kernel-layout=OHWI},relax-fold-constants,relax-canonicalize)' | filecheck %s
// Fold-constants before partitioning: the pattern (convolution with a constant kernel) still matches.
// RUN: legato-opt %S/inputs/before_partition.mlir --load %S/inputs/npu.py --relax-fold-constants --relax-fuse-by-pattern=backend=npu | filecheck %s --check-prefix=FOLDED
// An external module handed out alone is an ordinary module.
// RUN: legato-opt %S/inputs/alone.mlir --relax-infer-shapes --relax-fold-constants --relax-canonicalize '--relax-convert-layout=data-layout=NHWC kernel-layout=HWIO' --relax-legalize=target=generic --cse --tir-fuse --symbol-dce --canonicalize --linalg-fuse-elementwise-ops --canonicalize --cse --tir-tie-outputs | filecheck %s --check-prefix=ALONE

// CHECK-LABEL: func.func @main(
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) {{.*}}tensor<4x3x3x3xf32>
// CHECK-LABEL: module @npu
// CHECK: func.func @conv_0
// CHECK-DAG: "relax.constant"() {{.*}}tensor<4x3x3x4xf32>
// CHECK-DAG: "relax.permute_dims"(%arg0)
// CHECK: "relax.conv2d"({{.*}}data_layout = "NHWC"{{.*}}kernel_layout = "OHWI"
// CHECK: "relax.permute_dims"
// CHECK-LABEL: module @dsp
// CHECK-NOT: permute_dims
// CHECK: "relax.conv2d"
func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x2x2xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %1 = call @npu_conv_0(%0, %e) : (tensor<1x4x6x6xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %f = tensor.empty() : tensor<1x4x2x2xf32>
  %2 = call @dsp_conv_0(%1, %f) : (tensor<1x4x4x4xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  return %2 : tensor<1x4x2x2xf32>
}
func.func private @npu_conv_0(tensor<1x4x6x6xf32>, tensor<1x4x4x4xf32> {tir.out}) -> tensor<1x4x4x4xf32> attributes {relax.external = @npu::@conv_0}
func.func private @dsp_conv_0(tensor<1x4x4x4xf32>, tensor<1x4x2x2xf32> {tir.out}) -> tensor<1x4x2x2xf32> attributes {relax.external = @dsp::@conv_0}
module @npu attributes {relax.codegen = "npu"} {
  func.func @conv_0(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x4x4xf32> {
    %w = "relax.constant"() {value = dense<1.0> : tensor<4x4x3x3xf32>} : () -> tensor<4x4x3x3xf32>
    %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32>
    return %0 : tensor<1x4x4x4xf32>
  }
}
module @dsp attributes {relax.codegen = "dsp"} {
  func.func @conv_0(%x: tensor<1x4x4x4xf32>) -> tensor<1x4x2x2xf32> {
    %w = "relax.constant"() {value = dense<1.0> : tensor<4x4x3x3xf32>} : () -> tensor<4x4x3x3xf32>
    %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x4x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x2x2xf32>
    return %0 : tensor<1x4x2x2xf32>
  }
}

// FOLDED: call @npu_conv2d_relu_0
// ALONE: func.func @conv_0
// ALONE: call @
// ALONE: tir.prim_func

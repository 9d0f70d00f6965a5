module @npu attributes {relax.codegen = "npu"} {
  func.func @conv_0(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x4x4xf32> {
    %w = "relax.constant"() {value = dense<1.0> : tensor<4x4x3x3xf32>} : () -> tensor<4x4x3x3xf32>
    %0 = "relax.conv2d"(%x, %w) : (tensor<1x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32>
    return %0 : tensor<1x4x4x4xf32>
  }
}

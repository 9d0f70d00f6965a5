func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x6x6xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x3x4xf32>} : () -> tensor<3x3x3x4xf32>
  %k = "relax.permute_dims"(%w) {axes = array<i64: 3, 2, 0, 1>} : (tensor<3x3x3x4xf32>) -> tensor<4x3x3x3xf32>
  %0 = "relax.conv2d"(%x, %k) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = "relax.relu"(%0) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %1 : tensor<1x4x6x6xf32>
}

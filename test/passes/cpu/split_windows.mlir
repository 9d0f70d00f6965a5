// RUN: legato-opt %s --split-input-file --tir-split-windows | filecheck %s

// The inside of a padded pooling reads the input; only the strips around it, here the first row and column, read padded copies.
// CHECK-LABEL: func.func private @max_pool(
// CHECK-SAME: %[[X:.*]]: tensor<1x12x12x8xf32>, %[[OUT:.*]]: tensor<1x6x6x8xf32>
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [1, 2, 12, 8]
// CHECK: %[[PADDED:.*]] = tensor.pad %[[ROW]] low[0, 1, 1, 0] high[0, 0, 0, 0]
// CHECK: linalg.pooling_nhwc_max {{.*}} ins(%[[PADDED]], {{.*}} -> tensor<1x1x6x8xf32>
// CHECK: tensor.insert_slice %{{.*}} into %[[OUT]][0, 0, 0, 0] [1, 1, 6, 8]
// CHECK: tensor.pad {{.*}} low[0, 0, 1, 0]
// CHECK: linalg.pooling_nhwc_max {{.*}} -> tensor<1x5x1x8xf32>
// CHECK: %[[INSIDE:.*]] = tensor.extract_slice %[[X]][0, 1, 1, 0] [1, 11, 11, 8]
// CHECK: linalg.pooling_nhwc_max {{.*}} ins(%[[INSIDE]], {{.*}} -> tensor<1x5x5x8xf32>
// What read the result reads each part; where nobody did, a copy does.
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x5x5x8xf32>, f32)
// CHECK: %[[ALL:.*]] = tensor.insert_slice {{.*}}[0, 1, 1, 0] [1, 5, 5, 8]
// CHECK: return %[[ALL]]
func.func private @max_pool(%x: tensor<1x12x12x8xf32>, %out: tensor<1x6x6x8xf32> {tir.out, bufferization.writable = true}) -> tensor<1x6x6x8xf32>
    attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x12x12x8xf32> to tensor<1x13x13x8xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %f = linalg.fill ins(%low : f32) outs(%out : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %0 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %window : tensor<1x13x13x8xf32>, tensor<3x3xf32>) outs(%f : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  return %0 : tensor<1x6x6x8xf32>
}

// -----

// Where little lies inside, and where a spatial size is dynamic, the kernel keeps one padded input.
// CHECK-LABEL: func.func private @small(
// CHECK-COUNT-1: tensor.pad
// CHECK-NOT: tensor.pad
func.func private @small(%x: tensor<1x2x2x8xf32>, %out: tensor<1x2x2x8xf32> {tir.out, bufferization.writable = true}) -> tensor<1x2x2x8xf32>
    attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x2x2x8xf32> to tensor<1x4x4x8xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %f = linalg.fill ins(%low : f32) outs(%out : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
  %0 = linalg.pooling_nhwc_max {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %window : tensor<1x4x4x8xf32>, tensor<3x3xf32>) outs(%f : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
  return %0 : tensor<1x2x2x8xf32>
}

// -----

// The first row of windows lies in the padding: nothing of the input would be left of that strip.
// CHECK-LABEL: func.func private @padding_alone(
// CHECK-COUNT-1: tensor.pad
// CHECK-NOT: tensor.pad
func.func private @padding_alone(%x: tensor<1x9x12x4xf32>, %w: tensor<2x3x4xf32>,
                                 %out: tensor<1x4x10x4xf32> {tir.out, bufferization.writable = true}) -> tensor<1x4x10x4xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 3, 0, 0] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x9x12x4xf32> to tensor<1x12x12x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x4x10x4xf32>) -> tensor<1x4x10x4xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<[3, 1]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<1x12x12x4xf32>, tensor<2x3x4xf32>) outs(%f : tensor<1x4x10x4xf32>) -> tensor<1x4x10x4xf32>
  return %0 : tensor<1x4x10x4xf32>
}

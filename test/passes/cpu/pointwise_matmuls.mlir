// RUN: legato-opt %s --tir-pointwise-matmuls='target=llvm{cpu=x86-64-v4}' --split-input-file | filecheck %s
// A convolution of one tap is a product of matrices, whose rows are the 49 positions of an image; so are the ops after it.

// CHECK-LABEL: func.func private @rows_of_7
// CHECK-DAG: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1, 2], [3]] : tensor<1x7x7x64xf32> into tensor<49x64xf32>
// CHECK-DAG: %[[W:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1, 2], [3]] : tensor<1x1x64x128xf32> into tensor<64x128xf32>
// CHECK: %[[P:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]], %[[W]] : tensor<49x64xf32>, tensor<64x128xf32>) outs(%{{.*}} : tensor<49x128xf32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[P]], %{{.*}} : tensor<49x128xf32>, tensor<128xf32>) outs(%{{.*}} : tensor<49x128xf32>)
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] output_shape [1, 7, 7, 128] : tensor<49x128xf32> into tensor<1x7x7x128xf32>
func.func private @rows_of_7(%x: tensor<1x7x7x64xf32>, %w: tensor<1x1x64x128xf32>, %b: tensor<1x1x1x128xf32>, %y: tensor<1x7x7x128xf32> {tir.out}) -> tensor<1x7x7x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x7x7x128xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x7x7x64xf32>, tensor<1x1x64x128xf32>) outs(%0 : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(n, h, w, f) -> (n, h, w, f)>, affine_map<(n, h, w, f) -> (0, 0, 0, f)>, affine_map<(n, h, w, f) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1, %b : tensor<1x7x7x128xf32>, tensor<1x1x1x128xf32>) outs(%y : tensor<1x7x7x128xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x7x7x128xf32>
  return %2 : tensor<1x7x7x128xf32>
}

// -----

// Any number of images.
// CHECK-LABEL: func.func private @images
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64x128xf32>) outs(%{{.*}} : tensor<?x128xf32>)
func.func private @images(%x: tensor<?x7x7x64xf32>, %w: tensor<1x1x64x128xf32>, %y: tensor<?x7x7x128xf32> {tir.out}) -> tensor<?x7x7x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x7x7x128xf32>) -> tensor<?x7x7x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<?x7x7x64xf32>, tensor<1x1x64x128xf32>) outs(%0 : tensor<?x7x7x128xf32>) -> tensor<?x7x7x128xf32>
  return %1 : tensor<?x7x7x128xf32>
}

// -----

// And images of unknown sizes, of which each row would end with positions that fill no tile. Strides leave positions out.
// CHECK-LABEL: func.func private @any_images
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64x128xf32>) outs(%{{.*}} : tensor<?x128xf32>)
func.func private @any_images(%x: tensor<?x?x?x64xf32>, %w: tensor<1x1x64x128xf32>, %y: tensor<?x?x?x128xf32> {tir.out}) -> tensor<?x?x?x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x?x?x128xf32>) -> tensor<?x?x?x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<?x?x?x64xf32>, tensor<1x1x64x128xf32>) outs(%0 : tensor<?x?x?x128xf32>) -> tensor<?x?x?x128xf32>
  return %1 : tensor<?x?x?x128xf32>
}

// CHECK-LABEL: func.func private @steps
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func private @steps(%x: tensor<?x?x?x64xf32>, %w: tensor<1x1x64x128xf32>, %y: tensor<?x?x?x128xf32> {tir.out}) -> tensor<?x?x?x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x?x?x128xf32>) -> tensor<?x?x?x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<?x?x?x64xf32>, tensor<1x1x64x128xf32>) outs(%0 : tensor<?x?x?x128xf32>) -> tensor<?x?x?x128xf32>
  return %1 : tensor<?x?x?x128xf32>
}

// -----

// Tiles of 14 positions of a row are as good. So are those of convolutions with steps, or of several taps, whose rows lie apart.
// CHECK-LABEL: func.func private @rows_of_28
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func private @rows_of_28(%x: tensor<1x28x28x64xf32>, %w: tensor<1x1x64x128xf32>, %y: tensor<1x28x28x128xf32> {tir.out}) -> tensor<1x28x28x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x28x28x64xf32>, tensor<1x1x64x128xf32>) outs(%0 : tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
  return %1 : tensor<1x28x28x128xf32>
}

// -----

// CHECK-LABEL: func.func private @steps
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func private @steps(%x: tensor<1x14x14x64xf32>, %w: tensor<1x1x64x128xf32>, %y: tensor<1x7x7x128xf32> {tir.out}) -> tensor<1x7x7x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%x, %w : tensor<1x14x14x64xf32>, tensor<1x1x64x128xf32>) outs(%0 : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  return %1 : tensor<1x7x7x128xf32>
}

// -----

// CHECK-LABEL: func.func private @taps
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func private @taps(%x: tensor<1x9x9x64xf32>, %w: tensor<3x3x64x128xf32>, %y: tensor<1x7x7x128xf32> {tir.out}) -> tensor<1x7x7x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x9x9x64xf32>, tensor<3x3x64x128xf32>) outs(%0 : tensor<1x7x7x128xf32>) -> tensor<1x7x7x128xf32>
  return %1 : tensor<1x7x7x128xf32>
}

// RUN: legato-opt %s --split-input-file --tir-convert-kernel-layout='target="llvm{cpu=x86-64-v3}"' | filecheck %s

// A convolution with channels first: image, filter and result are transposed; the pad stays before the convolution.
// CHECK-LABEL: func.func private @conv
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x3x8x8xf32>) outs(%{{.*}} : tensor<1x8x8x3xf32>)
// CHECK: %[[P:.*]] = tensor.pad %[[X]] low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<32x3x3x3xf32>) outs(%{{.*}} : tensor<3x3x3x32xf32>)
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<1x8x8x32xf32>)
// CHECK: %[[Y:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}} ins(%[[P]], %[[W]] : {{.*}}) outs(%[[F]]
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<1x8x8x32xf32>) outs(%arg2 : tensor<1x32x8x8xf32>)
// CHECK-NOT: nchw
func.func private @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<32x3x3x3xf32>, %out: tensor<1x32x8x8xf32> {tir.out}) -> tensor<1x32x8x8xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x8x8xf32> to tensor<1x3x10x10xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<1x3x10x10xf32>, tensor<32x3x3x3xf32>) outs(%fill : tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  return %0 : tensor<1x32x8x8xf32>
}


// One of few features has vectors of columns, and stays (tir-column-convolutions).
// CHECK-LABEL: func.func private @columns
// CHECK-NOT: linalg.generic
// CHECK: linalg.conv_2d_nchw_fchw
func.func private @columns(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %out: tensor<1x4x6x6xf32> {tir.out}) -> tensor<1x4x6x6xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%fill : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

// -----

// A matmul whose second operand is transposed; one of few rows stays: its elements are dot products.
// CHECK-LABEL: func.func private @matmul
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<32x16xf32>) outs(%{{.*}} : tensor<16x32xf32>)
// CHECK: linalg.matmul ins(%arg0, %[[B]] : tensor<64x16xf32>, tensor<16x32xf32>)
// CHECK-LABEL: func.func private @dot_products
// CHECK-NOT: linalg.generic
// CHECK: linalg.matmul indexing_maps = {{.*}} ins(%arg0, %arg1 : tensor<2x16xf32>, tensor<32x16xf32>)
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func private @matmul(%a: tensor<64x16xf32>, %b: tensor<32x16xf32>, %out: tensor<64x32xf32> {tir.out}) -> tensor<64x32xf32> attributes {tir.prim_func} {
  %0 = linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<64x16xf32>, tensor<32x16xf32>) outs(%out : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
func.func private @dot_products(%a: tensor<2x16xf32>, %b: tensor<32x16xf32>, %out: tensor<2x32xf32> {tir.out}) -> tensor<2x32xf32> attributes {tir.prim_func} {
  %0 = linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<2x16xf32>, tensor<32x16xf32>) outs(%out : tensor<2x32xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

// RUN: legato-opt %s --tir-widen-factors='target=llvm{cpu=x86-64-v4}' --split-input-file | filecheck %s
// RUN: legato-opt %s --tir-widen-factors='target=llvm{cpu=znver4}' --split-input-file | filecheck %s --check-prefixes=CHECK,PAIRS
// The factor that register tiles read an element at a time is widened before the product; vectors of the weight stay half floats.

// CHECK-LABEL: func.func private @matmul
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<?x64xbf16>) outs(%{{.*}} : tensor<?x64xf32>)
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: linalg.matmul ins(%[[X]], %arg1 : tensor<?x64xf32>, tensor<64x96xbf16>)
func.func private @matmul(%x: tensor<?x64xbf16>, %w: tensor<64x96xbf16>, %out: tensor<?x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x96xf32>) -> tensor<?x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x96xbf16>) outs(%0 : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %1 : tensor<?x96xf32>
}

// -----

// What is padded is widened before it is padded.
// CHECK-LABEL: func.func private @conv
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x8x8x16xf16>)
// CHECK: %[[P:.*]] = tensor.pad %[[X]]
// CHECK: arith.extf
// CHECK: tensor.yield %{{.*}} : f32
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%[[P]], %arg1 : tensor<1x10x10x16xf32>, tensor<3x3x16x32xf16>)
func.func private @conv(%x: tensor<1x8x8x16xf16>, %w: tensor<3x3x16x32xf16>, %out: tensor<1x8x8x32xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x8x8x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.0 : f16
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %half : f16
  } : tensor<1x8x8x16xf16> to tensor<1x10x10x16xf16>
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<1x10x10x16xf16>, tensor<3x3x16x32xf16>) outs(%0 : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %1 : tensor<1x8x8x32xf32>
}

// -----

// Not where few columns read each element, nor what is f32 already.
// CHECK-LABEL: func.func private @narrow
// CHECK-NOT: linalg.generic
func.func private @narrow(%x: tensor<8x64xf16>, %w: tensor<64x3xf16>, %y: tensor<8x64xf32>, %v: tensor<64x96xf32>,
    %out: tensor<8x3xf32> {tir.out, bufferization.writable = true}, %o: tensor<8x96xf32> {tir.out, bufferization.writable = true})
    -> (tensor<8x3xf32>, tensor<8x96xf32>) attributes {tir.prim_func} {
  %1 = linalg.matmul ins(%x, %w : tensor<8x64xf16>, tensor<64x3xf16>) outs(%out : tensor<8x3xf32>) -> tensor<8x3xf32>
  %2 = linalg.matmul ins(%y, %v : tensor<8x64xf32>, tensor<64x96xf32>) outs(%o : tensor<8x96xf32>) -> tensor<8x96xf32>
  return %1, %2 : tensor<8x3xf32>, tensor<8x96xf32>
}

// -----

// A window reads each element once for each of its taps.
// CHECK-LABEL: func.func private @few_features
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x8x16xbf16>)
// CHECK: linalg.conv_1d_nwc_wcf {{.*}} ins(%[[X]], %arg1 : tensor<1x8x16xf32>, tensor<3x16x16xbf16>)
func.func private @few_features(%x: tensor<1x8x16xbf16>, %w: tensor<3x16x16xbf16>, %out: tensor<1x6x16xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x6x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x6x16xf32>) -> tensor<1x6x16xf32>
  %1 = linalg.conv_1d_nwc_wcf {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x8x16xbf16>, tensor<3x16x16xbf16>) outs(%0 : tensor<1x6x16xf32>) -> tensor<1x6x16xf32>
  return %1 : tensor<1x6x16xf32>
}

// -----

// Pairs of both factors are multiplied by instructions, where the CPU has these.
// PAIRS-LABEL: func.func private @activations
// PAIRS: linalg.matmul ins(%arg0, %arg1 : tensor<32x64xbf16>, tensor<64x96xbf16>)
func.func private @activations(%x: tensor<32x64xbf16>, %w: tensor<64x96xbf16>, %out: tensor<32x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<32x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<32x96xf32>) -> tensor<32x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<32x64xbf16>, tensor<64x96xbf16>) outs(%0 : tensor<32x96xf32>) -> tensor<32x96xf32>
  return %1 : tensor<32x96xf32>
}

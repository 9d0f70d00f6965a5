// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-depthwise-convolutions{target="llvm{cpu=x86-64-v3}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-depthwise-convolutions{target="llvm{cpu=x86-64-v3,threads=2}"})' | filecheck %s --check-prefix=THREADS
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-depthwise-convolutions{target="llvm{cpu=x86-64-v2}"})' | filecheck %s --check-prefix=PLAIN

// Rows of the window that lie outside of the image are left out by the bounds of a loop, whose sums are the positions of a tile. Those of
// the first tile read no column in front of the image.
// CHECK-LABEL: func.func private @clipped(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x20x30x64xf32>
// CHECK: %[[W:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<3x3x64xf32>
// CHECK: scf.for %[[ROW:\w+]] = %{{.*}} to %c20
// CHECK: %[[FIRST:\w+]] = arith.maxsi
// CHECK: scf.for %[[CHANNEL:\w+]] = %{{.*}} to %c64{{.*}} step %c8
// CHECK: %{{.*}}:8 = scf.for %[[TAP:\w+]] = %[[FIRST]] to %{{.*}} iter_args
// CHECK-COUNT-3: vector.load %[[W]][%[[TAP]]
// CHECK-COUNT-9: vector.load %[[X]]
// CHECK-NOT: vector.load %[[X]]
// CHECK: scf.yield
// CHECK-COUNT-8: vector.store
// The tiles in the middle are steps of a loop, and read a column on both sides.
// CHECK: scf.for %{{.*}} = %c8{{.*}} to %c24{{.*}} step %c8
// CHECK: scf.for
// CHECK-COUNT-10: vector.load %[[X]]
// CHECK-NOT: linalg
// CHECK: return

// THREADS-LABEL: func.func private @clipped(
// THREADS: scf.parallel

// Without fused multiply-adds, and with fewer channels than a vector has lanes, nothing changes.
// PLAIN-LABEL: func.func private @clipped(
// PLAIN: linalg.depthwise_conv_2d_nhwc_hwc
// CHECK-LABEL: func.func private @few_channels(
// CHECK: linalg.depthwise_conv_2d_nhwc_hwc

// Of one dimension, the loop over the rows of a window is left out. Threads share the channels.
// CHECK-LABEL: func.func private @one_row(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<2x3000x64xf32>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c64{{.*}} step %c8
// CHECK-COUNT-8: vector.load %[[X]]
// CHECK-NOT: linalg
// CHECK: return
// THREADS-LABEL: func.func private @one_row(
// THREADS: scf.parallel
// THREADS: scf.for %{{.*}} = %[[FIRST:\w+]] to %{{.*}} step %c8

// Where several tiles reach out of the image, they are steps of a loop, with a branch for each column.
// CHECK-LABEL: func.func private @wide_padding(
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c8
// CHECK: arith.cmpi ult
// CHECK: scf.if %{{.*}} -> (vector<8xf32>) {
// CHECK: vector.load
// CHECK-NOT: linalg
// CHECK: return

#all = affine_map<(n, h, w, c) -> (n, h, w, c)>
func.func private @clipped(%x: tensor<1x20x30x64xf32>, %w: tensor<3x3x64xf32>,
                           %out: tensor<1x20x30x64xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x20x30x64xf32> to tensor<1x22x32x64xf32>
  %0 = tensor.empty() : tensor<1x20x30x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %2 = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<1x22x32x64xf32>, tensor<3x3x64xf32>) outs(%1 : tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %3 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%2 : tensor<1x20x30x64xf32>) outs(%out : tensor<1x20x30x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %zero : f32
    linalg.yield %c : f32
  } -> tensor<1x20x30x64xf32>
  return %3 : tensor<1x20x30x64xf32>
}
func.func private @few_channels(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4xf32>,
                                %out: tensor<1x6x6x4xf32> {bufferization.writable = true, tir.out}) -> tensor<1x6x6x4xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %1 = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x8x8x4xf32>, tensor<3x3x4xf32>) outs(%0 : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  return %1 : tensor<1x6x6x4xf32>
}
func.func private @one_row(%x: tensor<2x3000x64xf32>, %w: tensor<3x64xf32>,
                           %out: tensor<2x2998x64xf32> {bufferization.writable = true, tir.out}) -> tensor<2x2998x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<2x2998x64xf32>) -> tensor<2x2998x64xf32>
  %1 = linalg.depthwise_conv_1d_nwc_wc {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
    ins(%x, %w : tensor<2x3000x64xf32>, tensor<3x64xf32>) outs(%0 : tensor<2x2998x64xf32>) -> tensor<2x2998x64xf32>
  return %1 : tensor<2x2998x64xf32>
}
func.func private @wide_padding(%x: tensor<1x64x8xf32>, %w: tensor<3x8xf32>,
                                %out: tensor<1x64x8xf32> {bufferization.writable = true, tir.out}) -> tensor<1x64x8xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 16, 0] high[0, 16, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<1x64x8xf32> to tensor<1x96x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
  %1 = linalg.depthwise_conv_1d_nwc_wc {strides = dense<1> : tensor<1xi64>, dilations = dense<16> : tensor<1xi64>}
    ins(%padded, %w : tensor<1x96x8xf32>, tensor<3x8xf32>) outs(%0 : tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
  return %1 : tensor<1x64x8xf32>
}

// Of unknown sizes: single positions up to the first window inside of the image, whole tiles, of which the last may begin before the one
// before it ends, and single positions behind. An image narrower than a tile has single ones only.
// CHECK-LABEL: func.func private @unsized(
// CHECK: %[[W:.*]] = memref.dim %{{.*}}, %c2
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %{{.*}} step %c1
// CHECK: scf.if
// CHECK:   scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c8
// CHECK:   scf.if
// CHECK: } else {
// CHECK:   scf.for %{{.*}} step %c1
// CHECK: arith.cmpi ult, %{{.*}}, %[[W]]
// CHECK-NOT: linalg
// CHECK: return
// THREADS-LABEL: func.func private @unsized(
// THREADS: scf.parallel
func.func private @unsized(%x: tensor<?x?x?x64xf32>, %w: tensor<3x3x64xf32>,
                           %out: tensor<?x?x?x64xf32> {bufferization.writable = true, tir.out}) -> tensor<?x?x?x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x?x64xf32>
  %h = tensor.dim %x, %c1 : tensor<?x?x?x64xf32>
  %v = tensor.dim %x, %c2 : tensor<?x?x?x64xf32>
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<?x?x?x64xf32> to tensor<?x?x?x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %2 = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<?x?x?x64xf32>, tensor<3x3x64xf32>) outs(%1 : tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %2 : tensor<?x?x?x64xf32>
}

// More taps in a row than registers hold: each column is loaded beside the tap that it is the first to be multiplied by.
// CHECK-LABEL: func.func private @long_window(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x8x50x8xf32>
// CHECK: %[[W:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<2x13x8xf32>
// CHECK: %{{.*}}:7 = scf.for
// CHECK-NOT: vector.load %[[W]]
// CHECK: vector.load %[[X]]
// CHECK-NEXT: vector.load %[[W]]
// CHECK-NEXT: vector.fma
// CHECK-NOT: scf.yield
// CHECK: vector.load %[[X]]
// CHECK: vector.load %[[W]]
// CHECK-NEXT: vector.fma
// CHECK-NEXT: vector.fma
// CHECK-NOT: linalg
// CHECK: return
func.func private @long_window(%x: tensor<1x8x50x8xf32>, %w: tensor<2x13x8xf32>,
                               %out: tensor<1x7x38x8xf32> {bufferization.writable = true, tir.out}) -> tensor<1x7x38x8xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x7x38x8xf32>) -> tensor<1x7x38x8xf32>
  %1 = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x8x50x8xf32>, tensor<2x13x8xf32>) outs(%0 : tensor<1x7x38x8xf32>) -> tensor<1x7x38x8xf32>
  return %1 : tensor<1x7x38x8xf32>
}

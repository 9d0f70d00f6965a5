// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-column-convolutions{target="llvm{cpu=x86-64-v4}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-column-convolutions{target="llvm{cpu=x86-64-v4,threads=2}"})' | filecheck %s --check-prefix=THREADS
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-column-convolutions{target="llvm{cpu=x86-64-v2}"})' | filecheck %s --check-prefix=NARROW

// Rows are kept with a border of zeros: those of the image are copied, others are zeros. Sums of five rows and two vectors of columns stay
// in registers; what is kept of a row is read once for all that are computed from it. The second vector of a row ends where the row does.
// NARROW-LABEL: func.func private @depthwise(
// NARROW: linalg.depthwise_conv_2d_nchw_chw
// CHECK-LABEL: func.func private @depthwise(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x3x20x24xf32>
// CHECK: %[[W:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<3x3x3xf32>
// CHECK: %[[KEPT:\w+]] = memref.alloc() {{.*}} : memref<1x1x22x1x{{.*}}xf32>
// CHECK: scf.if
// CHECK: vector.load %[[X]]
// CHECK: } else {
// CHECK-NOT: vector.load %[[X]]
// CHECK: }
// CHECK: scf.for %{{.*}} = %{{.*}} to %c20{{.*}} step %c5
// CHECK-COUNT-42: vector.load %[[KEPT]]
// CHECK-NOT: vector.load %[[KEPT]]
// CHECK: vector.store {{.*}}, %c0{{[_0-9]*}}]
// CHECK: vector.store {{.*}}, %c8{{[_0-9]*}}]
// CHECK-NOT: linalg
// CHECK: return
func.func private @depthwise(%x: tensor<1x3x20x24xf32>, %w: tensor<3x3x3xf32>, %out: tensor<1x3x20x24xf32> {tir.out}) -> tensor<1x3x20x24xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x20x24xf32> to tensor<1x3x22x26xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3x20x24xf32>) -> tensor<1x3x20x24xf32>
  %1 = linalg.depthwise_conv_2d_nchw_chw ins(%padded, %w : tensor<1x3x22x26xf32>, tensor<3x3x3xf32>) outs(%0 : tensor<1x3x20x24xf32>) -> tensor<1x3x20x24xf32>
  return %1 : tensor<1x3x20x24xf32>
}

// Without padding, and with neighbouring windows, the image is read where it is: a vector once for both features. Threads share images in parts.
// CHECK-LABEL: func.func private @dense(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x4x128x128xf32>
// CHECK-NOT: memref.alloc
// CHECK: %{{.*}}:16 = scf.for %{{.*}} = %{{.*}} to %c4
// CHECK-COUNT-48: vector.load %[[X]]
// CHECK: scf.yield
// THREADS-LABEL: func.func private @dense(
// THREADS: scf.parallel
func.func private @dense(%x: tensor<1x4x128x128xf32>, %w: tensor<2x4x3x3xf32>, %out: tensor<1x2x126x126xf32> {tir.out}) -> tensor<1x2x126x126xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x2x126x126xf32>) -> tensor<1x2x126x126xf32>
  %1 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x4x128x128xf32>, tensor<2x4x3x3xf32>) outs(%0 : tensor<1x2x126x126xf32>) -> tensor<1x2x126x126xf32>
  return %1 : tensor<1x2x126x126xf32>
}

// Every other column is kept apart. The rows of a volume's window, but those of one slice, are loops.
// CHECK-LABEL: func.func private @volume(
// CHECK: memref.alloc() {{.*}} : memref<1x1x9x21x2x{{.*}}xf32>
// CHECK: vector.shuffle
// CHECK: scf.for %{{.*}} = %{{.*}} to %c3{{.*}} step %c1{{.*}} iter_args
// CHECK: vector.fma
// CHECK: arith.maximumf
#volume = affine_map<(n, c, o0, o1, o2, k0, k1, k2) -> (n, c, o0 + k0, o1 * 2 + k1, o2 * 2 + k2)>
#filter = affine_map<(n, c, o0, o1, o2, k0, k1, k2) -> (c, k0, k1, k2)>
#result = affine_map<(n, c, o0, o1, o2, k0, k1, k2) -> (n, c, o0, o1, o2)>
#same = affine_map<(n, c, o0, o1, o2) -> (n, c, o0, o1, o2)>
func.func private @volume(%x: tensor<?x3x7x21x41xf32>, %w: tensor<3x3x3x3xf32>, %out: tensor<?x3x7x10x20xf32> {tir.out}) -> tensor<?x3x7x10x20xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x3x7x21x41xf32>
  %padded = tensor.pad %x low[0, 0, 1, 0, 0] high[0, 0, 1, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index, %e: index):
    tensor.yield %zero : f32
  } : tensor<?x3x7x21x41xf32> to tensor<?x3x9x21x41xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x3x7x10x20xf32>) -> tensor<?x3x7x10x20xf32>
  %1 = linalg.generic {indexing_maps = [#volume, #filter, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : tensor<?x3x9x21x41xf32>, tensor<3x3x3x3xf32>) outs(%0 : tensor<?x3x7x10x20xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    linalg.yield %sum : f32
  } -> tensor<?x3x7x10x20xf32>
  %empty = tensor.empty(%n) : tensor<?x3x7x10x20xf32>
  %2 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%1 : tensor<?x3x7x10x20xf32>) outs(%empty : tensor<?x3x7x10x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %most = arith.maximumf %a, %zero : f32
    linalg.yield %most : f32
  } -> tensor<?x3x7x10x20xf32>
  return %2 : tensor<?x3x7x10x20xf32>
}

// Many features, and columns far apart, are left to other schedules.
// CHECK-LABEL: func.func private @many(
// CHECK: linalg.conv_2d_nchw_fchw
func.func private @many(%x: tensor<1x4x8x8xf32>, %w: tensor<64x4x3x3xf32>, %out: tensor<1x64x6x6xf32> {tir.out}) -> tensor<1x64x6x6xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x64x6x6xf32>) -> tensor<1x64x6x6xf32>
  %1 = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x4x8x8xf32>, tensor<64x4x3x3xf32>) outs(%0 : tensor<1x64x6x6xf32>) -> tensor<1x64x6x6xf32>
  return %1 : tensor<1x64x6x6xf32>
}

// CHECK-LABEL: func.func private @far(
// CHECK: linalg.depthwise_conv_2d_nchw_chw
func.func private @far(%x: tensor<1x3x8x48xf32>, %w: tensor<3x1x3xf32>, %out: tensor<1x3x8x10xf32> {tir.out}) -> tensor<1x3x8x10xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3x8x10xf32>) -> tensor<1x3x8x10xf32>
  %1 = linalg.depthwise_conv_2d_nchw_chw {strides = dense<[1, 5]> : tensor<2xi64>} ins(%x, %w : tensor<1x3x8x48xf32>, tensor<3x1x3xf32>)
    outs(%0 : tensor<1x3x8x10xf32>) -> tensor<1x3x8x10xf32>
  return %1 : tensor<1x3x8x10xf32>
}

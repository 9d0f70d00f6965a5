// RUN: rm -rf %t && mkdir %t && legato-opt %s --tir-matrix-convolutions='target=llvm{cpu=sapphirerapids,matmul-precision=bf16}' --canonicalize --cse -o %t/out.mlir && filecheck %s < %t/out.mlir
// RUN: legato-opt %s --tir-matrix-convolutions='target=llvm{cpu=znver4,matmul-precision=bf16}' --canonicalize --cse -o %t/vectors.mlir && filecheck %s --check-prefix=VECTORS < %t/vectors.mlir
// RUN: legato-opt %s --tir-matrix-convolutions='target=llvm{cpu=x86-64-v4,matmul-precision=bf16}' | filecheck %s --check-prefix=PLAIN
// RUN: legato-opt %s --tir-matrix-convolutions='target=llvm{cpu=sapphirerapids,matmul-precision=bf16,threads=2}' --canonicalize --cse -o %t/threads.mlir && filecheck %s --check-prefix=THREADS < %t/threads.mlir

// The filter is packed: three panels of 32 features, nine taps of two blocks of 32 channels, in pairs.
// CHECK-LABEL: func.func @main(
// CHECK: "relax.constant"{{.*}} -> tensor<3x18x16x32x2xbf16>
// The copy has four phases, since windows are two steps apart, and a row and a column for the taps that reach into the next step: the
// 7 x 9 positions are computed in rows of 10, two tiles of 32.
// CHECK-LABEL: func.func private @conv(
// CHECK-SAME: %{{.*}}: tensor<1x14x18x40xf32>, %[[FILTER:.*]]: tensor<3x18x16x32x2xbf16>
// CHECK: %[[W:\w+]] = bufferization.to_buffer %[[FILTER]] read_only
// CHECK: memref.alloc() {{.*}} : memref<{{[0-9]+}}x64xbf16>
// CHECK: %[[PAIRS:\w+]] = memref.expand_shape
// CHECK-COUNT-4: arith.truncf {{.*}} vector<16xf32> to vector<16xbf16>
// CHECK: scf.for %{{.*}} to %c2
// CHECK: vector.transfer_read %[[PAIRS]]{{.*}} vector<32x16x2xbf16>
// CHECK: vector.transfer_read %[[W]]{{.*}} vector<16x32x2xbf16>
// CHECK: vector.contract
// What was computed for columns behind the last one is not stored; nor are features behind the last one.
// CHECK: scf.if
// CHECK: vector.maskedstore
// CHECK-NOT: linalg

// Little to sum is not worth it, and a filter that is not constant is not packed.
// CHECK-LABEL: func.func private @few(
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK-LABEL: func.func private @computed(
// CHECK: linalg.conv_2d_nhwc_hwcf

// On vectors, the sums of three positions of a row, and of all five vectors of features, are in registers, and a step takes one pair of the 20
// of its 40 channels. Of panels of 32 features, the last one would be mostly padding.
// VECTORS-LABEL: func.func @main(
// VECTORS: "relax.constant"{{.*}} -> tensor<1x180x1x80x2xbf16>
// VECTORS-LABEL: func.func private @conv(
// VECTORS: memref.collapse_shape {{.*}} : memref<1x180x1x80x2xbf16> into memref<1x180x160xbf16>
// VECTORS: memref.alloc() {{.*}} : memref<{{[0-9]+}}x48xbf16>
// Of the first row's windows, the taps that lie in the padding above the image are left out.
// VECTORS: %[[TOP:.*]] = arith.subi %c1, %{{.*}} : index
// VECTORS: %[[FIRST:.*]] = arith.maxsi %[[TOP]], %c0 : index
// VECTORS: %[[END:.*]] = arith.minsi %{{.*}}, %c3 : index
// VECTORS: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %c1
// VECTORS: scf.for %{{.*}} = %c0 to %c3 step %c1
// VECTORS-COUNT-5: vector.load {{.*}} vector<32xbf16>
// VECTORS: vector.load {{.*}} vector<2xbf16>
// VECTORS: vector.broadcast {{.*}} : i32 to vector<16xi32>
// VECTORS-COUNT-15: "tir.dot2_bf16bf16"
// VECTORS-COUNT-3: vector.maskedstore
// VECTORS-NOT: linalg
// VECTORS-LABEL: func.func private @few(
// VECTORS: linalg.conv_2d_nhwc_hwcf
// VECTORS-LABEL: func.func private @computed(
// VECTORS: linalg.conv_2d_nhwc_hwcf

// An elementwise kernel that only such a convolution reads rounds what it writes.
// VECTORS-LABEL: func.func private @scaled(
// VECTORS-SAME: -> tensor<1x8x8x32xbf16>
// VECTORS: linalg.generic {{.*}} ins(%{{.*}} : tensor<1x8x8x32xf32>) outs(%{{.*}} : tensor<1x8x8x32xbf16>)
// VECTORS: arith.mulf
// VECTORS: arith.truncf %{{.*}} {tir.flushes} : f32 to bf16
// VECTORS-LABEL: func.func private @pointwise(
// VECTORS-SAME: %{{.*}}: tensor<1x8x8x32xbf16>

// VECTORS-LABEL: func.func private @small(
// VECTORS: "tir.dot2_bf16bf16"
// VECTORS-NOT: linalg

// Of a filter that leaves the cache between two calls, each step fetches a part of the next panel: 16 elements in each of five tiles.
// VECTORS-LABEL: func.func private @large(
// VECTORS: %[[FLAT:.*]] = memref.collapse_shape {{.*}} into memref<262144xbf16>
// VECTORS: memref.prefetch %[[FLAT]][%{{.*}}], read, locality<2>, data
// VECTORS-NOT: memref.prefetch
// VECTORS: "tir.dot2_bf16bf16"

// An image that was widened from bf16 is read before that: the call that widens it ends, and is given nothing to round.
// VECTORS-LABEL: func.func @widened_first(
// VECTORS-SAME: %[[NARROW:.*]]: tensor<1x8x8x32xbf16>
// VECTORS-NOT: @widened
// VECTORS: call @narrow(%[[NARROW]], {{.*}} {relax.work = ["65536", "2000"]}

// The groups of an image that is bf16 are read in place, pair by pair of channels.
// VECTORS-LABEL: func.func private @grouped(
// VECTORS-SAME: %{{.*}}: tensor<1x6x5x48xbf16>, %{{.*}}: tensor<3x3x8x3x32xbf16>
// VECTORS-NOT: memref.alloc
// VECTORS: vector.load {{.*}} memref<1x6x5x48xbf16>, vector<2xbf16>
// VECTORS: "tir.dot2_bf16bf16"
// VECTORS: vector.maskedstore {{.*}} memref<1x6x5x36xf32>
// VECTORS-NOT: linalg

// Those of an odd number of channels are copied apart. Their filters are in panels of their own: three of one vector.
// VECTORS-LABEL: func.func private @odd(
// VECTORS-SAME: %{{.*}}: tensor<1x6x5x51xbf16>, %{{.*}}: tensor<3x81x1x16x2xbf16>
// VECTORS: memref.alloc() {{.*}} : memref<168x32xbf16>
// VECTORS: scf.for %{{.*}} to %c3 step
// VECTORS: "tir.dot2_bf16bf16"
// VECTORS-NOT: linalg

// Of narrow groups, a vector has the features of four: an image of f32 is rounded as it is read, and a shuffle gives each lane a pair.
// VECTORS-LABEL: func.func private @narrow_groups(
// VECTORS-SAME: %{{.*}}: tensor<1x6x5x16xf32>, %{{.*}}: tensor<1x3x2x3x32xbf16>
// VECTORS: arith.truncf %{{.*}} {tir.flushes} : vector<16xf32> to vector<16xbf16>
// VECTORS: vector.shuffle %{{.*}}, %{{.*}} [0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6] : vector<8xi32>, vector<8xi32>
// VECTORS: "tir.dot2_bf16bf16"
// VECTORS: vector.shuffle %{{.*}}, %{{.*}} [1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7] : vector<8xi32>, vector<8xi32>
// VECTORS-NOT: linalg

// On matrices, nine places fill no tile, and groups are left as they are.
// CHECK-LABEL: func.func private @small(
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK-LABEL: func.func private @grouped(
// CHECK: linalg.generic
// PLAIN-LABEL: func.func private @conv(
// PLAIN: linalg.conv_2d_nhwc_hwcf

func.func @main(%x: tensor<1x14x18x40xf32>, %y: tensor<1x6x6x2xf32>, %w: tensor<3x3x40x72xf32>)
    -> (tensor<1x7x9x72xf32>, tensor<1x4x4x32xf32>, tensor<1x7x9x72xf32>) {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3x3x40x72xf32>} : () -> tensor<3x3x40x72xf32>
  %1 = tensor.empty() : tensor<1x7x9x72xf32>
  %2 = func.call @conv(%x, %0, %1) : (tensor<1x14x18x40xf32>, tensor<3x3x40x72xf32>, tensor<1x7x9x72xf32>) -> tensor<1x7x9x72xf32>
  %3 = "relax.constant"() {value = dense<1.0> : tensor<3x3x2x32xf32>} : () -> tensor<3x3x2x32xf32>
  %4 = tensor.empty() : tensor<1x4x4x32xf32>
  %5 = func.call @few(%y, %3, %4) : (tensor<1x6x6x2xf32>, tensor<3x3x2x32xf32>, tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32>
  %6 = func.call @computed(%x, %w, %1) : (tensor<1x14x18x40xf32>, tensor<3x3x40x72xf32>, tensor<1x7x9x72xf32>) -> tensor<1x7x9x72xf32>
  return %2, %5, %6 : tensor<1x7x9x72xf32>, tensor<1x4x4x32xf32>, tensor<1x7x9x72xf32>
}
func.func private @conv(%x: tensor<1x14x18x40xf32>, %w: tensor<3x3x40x72xf32>,
                        %out: tensor<1x7x9x72xf32> {bufferization.writable = true, tir.out}) -> tensor<1x7x9x72xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x14x18x40xf32> to tensor<1x15x19x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x7x9x72xf32>) -> tensor<1x7x9x72xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<1x15x19x40xf32>, tensor<3x3x40x72xf32>) outs(%f : tensor<1x7x9x72xf32>) -> tensor<1x7x9x72xf32>
  return %0 : tensor<1x7x9x72xf32>
}
func.func private @few(%x: tensor<1x6x6x2xf32>, %w: tensor<3x3x2x32xf32>,
                       %out: tensor<1x4x4x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x4x4x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x6x6x2xf32>, tensor<3x3x2x32xf32>) outs(%f : tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xf32>
  return %0 : tensor<1x4x4x32xf32>
}
func.func private @computed(%x: tensor<1x14x18x40xf32>, %w: tensor<3x3x40x72xf32>,
                            %out: tensor<1x7x9x72xf32> {bufferization.writable = true, tir.out}) -> tensor<1x7x9x72xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x14x18x40xf32> to tensor<1x15x19x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x7x9x72xf32>) -> tensor<1x7x9x72xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<1x15x19x40xf32>, tensor<3x3x40x72xf32>) outs(%f : tensor<1x7x9x72xf32>) -> tensor<1x7x9x72xf32>
  return %0 : tensor<1x7x9x72xf32>
}

func.func @scaled_first(%x: tensor<1x8x8x32xf32>) -> tensor<1x8x8x16xf32> {
  %0 = tensor.empty() : tensor<1x8x8x32xf32>
  %1 = func.call @scaled(%x, %0) : (tensor<1x8x8x32xf32>, tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %2 = "relax.constant"() {value = dense<1.0> : tensor<1x1x32x16xf32>} : () -> tensor<1x1x32x16xf32>
  %3 = tensor.empty() : tensor<1x8x8x16xf32>
  %4 = func.call @pointwise(%1, %2, %3) : (tensor<1x8x8x32xf32>, tensor<1x1x32x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %4 : tensor<1x8x8x16xf32>
}
func.func private @scaled(%x: tensor<1x8x8x32xf32>, %out: tensor<1x8x8x32xf32> {bufferization.writable = true, tir.out})
    -> tensor<1x8x8x32xf32> attributes {tir.prim_func} {
  %half = arith.constant 0.5 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x : tensor<1x8x8x32xf32>) outs(%out : tensor<1x8x8x32xf32>) {
  ^bb0(%in: f32, %old: f32):
    %1 = arith.mulf %in, %half : f32
    linalg.yield %1 : f32
  } -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
}
func.func private @pointwise(%x: tensor<1x8x8x32xf32>, %w: tensor<1x1x32x16xf32>,
                             %out: tensor<1x8x8x16xf32> {bufferization.writable = true, tir.out}) -> tensor<1x8x8x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x8x8x32xf32>, tensor<1x1x32x16xf32>) outs(%f : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

func.func @small_first(%x: tensor<1x3x3x32xf32>) -> tensor<1x3x3x16xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<1x1x32x16xf32>} : () -> tensor<1x1x32x16xf32>
  %1 = tensor.empty() : tensor<1x3x3x16xf32>
  %2 = func.call @small(%x, %0, %1) : (tensor<1x3x3x32xf32>, tensor<1x1x32x16xf32>, tensor<1x3x3x16xf32>) -> tensor<1x3x3x16xf32>
  return %2 : tensor<1x3x3x16xf32>
}
func.func private @small(%x: tensor<1x3x3x32xf32>, %w: tensor<1x1x32x16xf32>,
                         %out: tensor<1x3x3x16xf32> {bufferization.writable = true, tir.out}) -> tensor<1x3x3x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3x3x16xf32>) -> tensor<1x3x3x16xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x3x3x32xf32>, tensor<1x1x32x16xf32>) outs(%f : tensor<1x3x3x16xf32>) -> tensor<1x3x3x16xf32>
  return %0 : tensor<1x3x3x16xf32>
}

func.func @large_first(%x: tensor<1x8x8x512xf32>) -> tensor<1x8x8x512xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<1x1x512x512xf32>} : () -> tensor<1x1x512x512xf32>
  %1 = tensor.empty() : tensor<1x8x8x512xf32>
  %2 = func.call @large(%x, %0, %1) : (tensor<1x8x8x512xf32>, tensor<1x1x512x512xf32>, tensor<1x8x8x512xf32>) -> tensor<1x8x8x512xf32>
  return %2 : tensor<1x8x8x512xf32>
}
func.func private @large(%x: tensor<1x8x8x512xf32>, %w: tensor<1x1x512x512xf32>,
                         %out: tensor<1x8x8x512xf32> {bufferization.writable = true, tir.out}) -> tensor<1x8x8x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x8x8x512xf32>) -> tensor<1x8x8x512xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x8x8x512xf32>, tensor<1x1x512x512xf32>) outs(%f : tensor<1x8x8x512xf32>) -> tensor<1x8x8x512xf32>
  return %0 : tensor<1x8x8x512xf32>
}

func.func @widened_first(%x: tensor<1x8x8x32xbf16>) -> tensor<1x8x8x16xf32> {
  %0 = tensor.empty() : tensor<1x8x8x32xf32>
  %1 = func.call @widened(%x, %0) : (tensor<1x8x8x32xbf16>, tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %2 = "relax.constant"() {value = dense<1.0> : tensor<1x1x32x16xf32>} : () -> tensor<1x1x32x16xf32>
  %3 = tensor.empty() : tensor<1x8x8x16xf32>
  %4 = func.call @narrow(%1, %2, %3) {relax.work = ["65536", "6096"]}
    : (tensor<1x8x8x32xf32>, tensor<1x1x32x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %4 : tensor<1x8x8x16xf32>
}
func.func private @widened(%x: tensor<1x8x8x32xbf16>, %out: tensor<1x8x8x32xf32> {bufferization.writable = true, tir.out})
    -> tensor<1x8x8x32xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x : tensor<1x8x8x32xbf16>) outs(%out : tensor<1x8x8x32xf32>) {
  ^bb0(%in: bf16, %old: f32):
    %1 = arith.extf %in : bf16 to f32
    linalg.yield %1 : f32
  } -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
}
func.func private @narrow(%x: tensor<1x8x8x32xf32>, %w: tensor<1x1x32x16xf32>,
                          %out: tensor<1x8x8x16xf32> {bufferization.writable = true, tir.out}) -> tensor<1x8x8x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x8x8x32xf32>, tensor<1x1x32x16xf32>) outs(%f : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

func.func @groups(%x: tensor<1x6x5x48xbf16>) -> tensor<1x6x5x36xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3x3x16x36xbf16>} : () -> tensor<3x3x16x36xbf16>
  %1 = tensor.empty() : tensor<1x6x5x36xf32>
  %2 = func.call @grouped(%x, %0, %1) : (tensor<1x6x5x48xbf16>, tensor<3x3x16x36xbf16>, tensor<1x6x5x36xf32>) -> tensor<1x6x5x36xf32>
  return %2 : tensor<1x6x5x36xf32>
}
func.func private @grouped(%x: tensor<1x6x5x48xbf16>, %w: tensor<3x3x16x36xbf16>,
                           %out: tensor<1x6x5x36xf32> {bufferization.writable = true, tir.out}) -> tensor<1x6x5x36xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : bf16
  } : tensor<1x6x5x48xbf16> to tensor<1x8x7x48xbf16>
  %a = tensor.expand_shape %padded [[0], [1], [2], [3, 4]] output_shape [1, 8, 7, 3, 16] : tensor<1x8x7x48xbf16> into tensor<1x8x7x3x16xbf16>
  %b = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 16, 3, 12] : tensor<3x3x16x36xbf16> into tensor<3x3x16x3x12xbf16>
  %c = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 6, 5, 3, 12] : tensor<1x6x5x36xf32> into tensor<1x6x5x3x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<1x6x5x3x12xf32>) -> tensor<1x6x5x3x12xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, g, f, i, j, c) -> (n, h + i, w + j, g, c)>, affine_map<(n, h, w, g, f, i, j, c) -> (i, j, c, g, f)>,
                       affine_map<(n, h, w, g, f, i, j, c) -> (n, h, w, g, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x8x7x3x16xbf16>, tensor<3x3x16x3x12xbf16>) outs(%f : tensor<1x6x5x3x12xf32>) {
  ^bb0(%p: bf16, %q: bf16, %s: f32):
    %1 = arith.extf %p : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %s, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x6x5x3x12xf32>
  %d = tensor.collapse_shape %0 [[0], [1], [2], [3, 4]] : tensor<1x6x5x3x12xf32> into tensor<1x6x5x36xf32>
  return %d : tensor<1x6x5x36xf32>
}

func.func @odd_channels(%x: tensor<1x6x5x51xbf16>) -> tensor<1x6x5x36xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3x3x17x36xbf16>} : () -> tensor<3x3x17x36xbf16>
  %1 = tensor.empty() : tensor<1x6x5x36xf32>
  %2 = func.call @odd(%x, %0, %1) : (tensor<1x6x5x51xbf16>, tensor<3x3x17x36xbf16>, tensor<1x6x5x36xf32>) -> tensor<1x6x5x36xf32>
  return %2 : tensor<1x6x5x36xf32>
}
func.func private @odd(%x: tensor<1x6x5x51xbf16>, %w: tensor<3x3x17x36xbf16>,
                           %out: tensor<1x6x5x36xf32> {bufferization.writable = true, tir.out}) -> tensor<1x6x5x36xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : bf16
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : bf16
  } : tensor<1x6x5x51xbf16> to tensor<1x8x7x51xbf16>
  %a = tensor.expand_shape %padded [[0], [1], [2], [3, 4]] output_shape [1, 8, 7, 3, 17] : tensor<1x8x7x51xbf16> into tensor<1x8x7x3x17xbf16>
  %b = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 17, 3, 12] : tensor<3x3x17x36xbf16> into tensor<3x3x17x3x12xbf16>
  %c = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 6, 5, 3, 12] : tensor<1x6x5x36xf32> into tensor<1x6x5x3x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<1x6x5x3x12xf32>) -> tensor<1x6x5x3x12xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, g, f, i, j, c) -> (n, h + i, w + j, g, c)>, affine_map<(n, h, w, g, f, i, j, c) -> (i, j, c, g, f)>,
                       affine_map<(n, h, w, g, f, i, j, c) -> (n, h, w, g, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x8x7x3x17xbf16>, tensor<3x3x17x3x12xbf16>) outs(%f : tensor<1x6x5x3x12xf32>) {
  ^bb0(%p: bf16, %q: bf16, %s: f32):
    %1 = arith.extf %p : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %s, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x6x5x3x12xf32>
  %d = tensor.collapse_shape %0 [[0], [1], [2], [3, 4]] : tensor<1x6x5x3x12xf32> into tensor<1x6x5x36xf32>
  return %d : tensor<1x6x5x36xf32>
}

func.func @four_channels(%x: tensor<1x6x5x16xf32>) -> tensor<1x6x5x16xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3x3x4x16xf32>} : () -> tensor<3x3x4x16xf32>
  %1 = tensor.empty() : tensor<1x6x5x16xf32>
  %2 = func.call @narrow_groups(%x, %0, %1) : (tensor<1x6x5x16xf32>, tensor<3x3x4x16xf32>, tensor<1x6x5x16xf32>) -> tensor<1x6x5x16xf32>
  return %2 : tensor<1x6x5x16xf32>
}
func.func private @narrow_groups(%x: tensor<1x6x5x16xf32>, %w: tensor<3x3x4x16xf32>,
                           %out: tensor<1x6x5x16xf32> {bufferization.writable = true, tir.out}) -> tensor<1x6x5x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x6x5x16xf32> to tensor<1x8x7x16xf32>
  %a = tensor.expand_shape %padded [[0], [1], [2], [3, 4]] output_shape [1, 8, 7, 4, 4] : tensor<1x8x7x16xf32> into tensor<1x8x7x4x4xf32>
  %b = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 4, 4, 4] : tensor<3x3x4x16xf32> into tensor<3x3x4x4x4xf32>
  %c = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 6, 5, 4, 4] : tensor<1x6x5x16xf32> into tensor<1x6x5x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<1x6x5x4x4xf32>) -> tensor<1x6x5x4x4xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, g, f, i, j, c) -> (n, h + i, w + j, g, c)>, affine_map<(n, h, w, g, f, i, j, c) -> (i, j, c, g, f)>,
                       affine_map<(n, h, w, g, f, i, j, c) -> (n, h, w, g, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x8x7x4x4xf32>, tensor<3x3x4x4x4xf32>) outs(%f : tensor<1x6x5x4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %s, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x6x5x4x4xf32>
  %d = tensor.collapse_shape %0 [[0], [1], [2], [3, 4]] : tensor<1x6x5x4x4xf32> into tensor<1x6x5x16xf32>
  return %d : tensor<1x6x5x16xf32>
}

// Of three channels, windows of neighbouring positions overlap in the copy: a column has four elements, and a position's 28 of a row of the
// window begin 8 elements behind those of the position before.
// CHECK-LABEL: func.func @first_image
// CHECK: "relax.constant"{{.*}} -> tensor<1x7x14x32x2xbf16>
// CHECK-LABEL: func.func private @first(
// CHECK: %[[COPY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2092xbf16>
// CHECK: %[[ROWS:.*]] = memref.reinterpret_cast %[[COPY]] to offset: [0], sizes: [258, 14, 2], strides: [8, 2, 1] : memref<2092xbf16> to memref<258x14x2xbf16, strided<[8, 2, 1]>>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16] : vector<16xbf16>, vector<16xbf16>
// CHECK: vector.transfer_read %[[ROWS]]{{.*}} : memref<258x14x2xbf16, strided<[8, 2, 1]>>, vector<32x14x2xbf16>
func.func @first_image(%x: tensor<1x16x16x3xf32>) -> tensor<1x8x8x32xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<7x7x3x32xf32>} : () -> tensor<7x7x3x32xf32>
  %1 = tensor.empty() : tensor<1x8x8x32xf32>
  %2 = func.call @first(%x, %0, %1) : (tensor<1x16x16x3xf32>, tensor<7x7x3x32xf32>, tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %2 : tensor<1x8x8x32xf32>
}
func.func private @first(%x: tensor<1x16x16x3xf32>, %w: tensor<7x7x3x32xf32>,
                         %out: tensor<1x8x8x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x8x8x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 3, 3, 0] high[0, 2, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x16x16x3xf32> to tensor<1x21x21x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<1x21x21x3xf32>, tensor<7x7x3x32xf32>) outs(%f : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
}

// Each of two threads multiplies the rows of the image that it copied, 16 of 32 tiles, with all 128 panels of features.
// THREADS-LABEL: func.func private @shared(
// THREADS: scf.parallel (%{{.*}}) = (%c0) to (%c2) step (%c1) {
// THREADS: %[[COPIED:.*]] = arith.muli %{{.*}}, %c16 : index
// THREADS: arith.minsi %[[COPIED]], %c32 : index
// THREADS: scf.parallel (%[[THREAD:.*]]) = (%c0) to (%c2) step (%c1) {
// THREADS: %[[FIRST:.*]] = arith.muli %[[THREAD]], %c128 : index
// THREADS: arith.minsi %[[FIRST]], %c256 : index
// THREADS: scf.for %[[ITEM:.*]] = %
// THREADS: %[[CHUNK:.*]] = arith.divui %[[ITEM]], %c128 : index
// THREADS: arith.muli %[[CHUNK]], %c16 : index
func.func @shared_image(%x: tensor<1x32x32x32xf32>) -> tensor<1x32x32x4096xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<1x1x32x4096xf32>} : () -> tensor<1x1x32x4096xf32>
  %1 = tensor.empty() : tensor<1x32x32x4096xf32>
  %2 = func.call @shared(%x, %0, %1)
    : (tensor<1x32x32x32xf32>, tensor<1x1x32x4096xf32>, tensor<1x32x32x4096xf32>) -> tensor<1x32x32x4096xf32>
  return %2 : tensor<1x32x32x4096xf32>
}
func.func private @shared(%x: tensor<1x32x32x32xf32>, %w: tensor<1x1x32x4096xf32>,
                          %out: tensor<1x32x32x4096xf32> {bufferization.writable = true, tir.out})
    -> tensor<1x32x32x4096xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x32x32x4096xf32>) -> tensor<1x32x32x4096xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<1x32x32x32xf32>, tensor<1x1x32x4096xf32>) outs(%f : tensor<1x32x32x4096xf32>) -> tensor<1x32x32x4096xf32>
  return %0 : tensor<1x32x32x4096xf32>
}
// Of images of unknown sizes, what the windows of 32 positions read is copied into rows, tap by tap, and zeros where that lies outside; the
// positions are written by their number. Vectors leave them as they are.
// CHECK-LABEL: func.func private @open(
// CHECK-SAME: %{{.*}}: tensor<?x?x?x40xf32>, %{{.*}}: tensor<3x18x16x32x2xbf16>
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] : memref<?x?x?x72xf32> into memref<?x72xf32>
// CHECK: memref.alloc() {{.*}} : memref<{{[0-9]+}}x18x32x32xbf16>
// CHECK: scf.for %[[I:.*]] = %c0 to %c3 step %c1
// CHECK: scf.for %[[J:.*]] = %c0 to %c3 step %c1
// CHECK: arith.cmpi ult
// CHECK: vector.maskedload {{.*}} : memref<?x?x?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
// CHECK: arith.truncf %{{.*}} {tir.flushes} : vector<16xf32> to vector<16xbf16>
// CHECK: vector.contract {{.*}} : vector<32x16x2xf32>, vector<16x32x2xf32> into vector<32x32xf32>
// CHECK: vector.store %{{.*}}, %{{.*}} : memref<?x72xf32>, vector<16xf32>
// CHECK-NOT: linalg
// VECTORS-LABEL: func.func private @open(
// VECTORS: linalg.conv_2d_nhwc_hwcf
func.func @of_any_size(%x: tensor<?x?x?x40xf32>, %out: tensor<?x?x?x72xf32>) -> tensor<?x?x?x72xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3x3x40x72xf32>} : () -> tensor<3x3x40x72xf32>
  %1 = func.call @open(%x, %0, %out) : (tensor<?x?x?x40xf32>, tensor<3x3x40x72xf32>, tensor<?x?x?x72xf32>) -> tensor<?x?x?x72xf32>
  return %1 : tensor<?x?x?x72xf32>
}
func.func private @open(%x: tensor<?x?x?x40xf32>, %w: tensor<3x3x40x72xf32>, %out: tensor<?x?x?x72xf32> {bufferization.writable = true, tir.out})
    -> tensor<?x?x?x72xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<?x?x?x40xf32> to tensor<?x?x?x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<?x?x?x72xf32>) -> tensor<?x?x?x72xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%padded, %w : tensor<?x?x?x40xf32>, tensor<3x3x40x72xf32>) outs(%f : tensor<?x?x?x72xf32>) -> tensor<?x?x?x72xf32>
  return %0 : tensor<?x?x?x72xf32>
}

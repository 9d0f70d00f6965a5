// RUN: rm -rf %t && mkdir %t && cp %s %t/in.mlir
// RUN: %python -c "import numpy as n, safetensors.numpy as s; s.save_file({'w': n.random.default_rng(0).random((3, 3, 64, 32), 'f4')}, r'%t/in.mlir.safetensors')"
// RUN: legato-opt %t/in.mlir --tir-winograd-convolutions='target=llvm{cpu=x86-64-v4}' --canonicalize --cse -o %t/out.mlir && filecheck %s < %t/out.mlir
// RUN: %python -c "import numpy as n, safetensors.numpy as s; a, b = (s.load_file(rf'%t/{x}.mlir.safetensors') for x in ('in', 'out')); g = n.array([[1/4, 0, 0], [-1/6, -1/6, -1/6], [-1/6, 1/6, -1/6], [1/24, 1/12, 1/6], [1/24, -1/12, 1/6], [0, 0, 1]]); u = n.einsum('ua,abcf,vb->uvcf', g, a['w'], g); print(sorted(b), abs(u.reshape(36, -1) - b['w.winograd']).max() < 1e-6)" | filecheck %s --check-prefix=BYTES
// RUN: legato-opt %t/in.mlir --tir-winograd-convolutions='target=llvm{cpu=znver4 matmul-precision=bf16}' --canonicalize --cse | filecheck %s --check-prefix=PAIRS
// RUN: legato-opt %t/in.mlir --tir-winograd-convolutions='target=llvm{cpu=skylake-avx512 threads=2}' --canonicalize --cse | filecheck %s --check-prefix=THREADS
// RUN: filecheck %s --check-prefix=PANELS < %t/out.mlir
// RUN: legato-opt %t/in.mlir --tir-winograd-convolutions='target=llvm{cpu=x86-64-v2}' | filecheck %s --check-prefix=NONE
// RUN: legato-compile --print-pipeline=fused --target 'llvm{winograd=false}' | filecheck %s --check-prefix=OFF
// RUN: legato-compile --print-pipeline=fused | filecheck %s --check-prefix=ON

// Rounded to bf16, pairs of channels are multiplied: tiles of 2 x 2 have 4 x 4 points.
// PAIRS: "relax.constant"() {weight = "w.winograd.bf16"} : () -> tensor<16x2048xbf16>
// PAIRS: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// PAIRS: vector.load %{{.*}} : memref<16x2048xbf16>, vector<32xbf16>
// PAIRS: dot2_bf16bf16
// PAIRS-COUNT-4: vector.store {{.*}} : memref<1x30x28x32xf32

// Without fused multiply-adds, or where the option says so, convolutions are computed as they are defined.
// NONE-NOT: tir.state
// NONE: linalg.conv_2d_nhwc_hwcf
// OFF-NOT: tir-winograd-convolutions
// ON: tir-winograd-convolutions

// The filter of 64 x 32 becomes, at compile time, one matrix of 64 x 32 for each of the 6 x 6 points.
// BYTES: ['constant.winograd', 'constant.winograd_1', 'w', 'w.panels', 'w.winograd'] True
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = "relax.constant"() {weight = "w.winograd"} : () -> tensor<36x2048xf32>
// CHECK: call @conv(%{{.*}}, %[[W]],
// CHECK-LABEL: func.func private @conv(
// CHECK-SAME: %[[X:.*]]: tensor<1x30x28x64xf32>, %[[U:.*]]: tensor<36x2048xf32>, %[[B:.*]]: tensor<32xf32>, %[[OUT:.*]]: tensor<1x30x28x32xf32>
// CHECK-SAME: tir.state = "scheduled"
// CHECK-DAG: %[[XB:.*]] = bufferization.to_buffer %[[X]] read_only
// CHECK-DAG: %[[UB:.*]] = bufferization.to_buffer %[[U]] read_only
// CHECK-DAG: %[[RESULT:.*]] = bufferization.to_buffer %[[OUT]] :
// Columns of the inputs of a segment are transformed first; rows of padding are masked, columns of padding cleared.
// CHECK: vector.maskedload %[[XB]]
// CHECK: math.fma
// CHECK: vector.store
// Each point is a product of tiles by a matrix of weights, while the next one is fetched.
// CHECK: scf.for %{{.*}} = %c0 to %c36
// CHECK: memref.prefetch %[[UB]]
// CHECK: vector.load %[[UB]]
// CHECK: vector.fma
// The bias is added to the transformed products. The last tiles have two rows inside of the result.
// CHECK: scf.if
// CHECK-COUNT-16: vector.store %{{.*}}, %[[RESULT]]
// CHECK: } else {
// CHECK: scf.if
// CHECK: vector.store %{{.*}}, %[[RESULT]]
// CHECK: bufferization.to_tensor %[[RESULT]] restrict writable
// CHECK-NOT: linalg

// Of a few channels, products are no faster; strides of 2, and filters that are not constant, are left.
// CHECK-LABEL: func.func private @few(
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK-LABEL: func.func private @strided(
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK-LABEL: func.func private @computed(
// CHECK: linalg.conv_2d_nhwc_hwcf

// Blocks of 3 segments of 7 tiles, each by one thread: products read 22 rows of 32 channels, of the last block, which has 2 segments, too.
// What is no row of a tile is cleared before: the memory may hold denormals, which are slow.
// THREADS-LABEL: func.func private @uneven(
// THREADS: scf.parallel
// THREADS: scf.for %{{.*}} = %c0 to %c36
// THREADS-NEXT: scf.for %[[FIRST:.*]] = %c672 to %c704 step %c16
// THREADS-NEXT: vector.store %cst{{.*}}, %{{.*}}[%{{.*}}, %[[FIRST]]] : memref<36x720xf32>
// THREADS: scf.for %{{.*}} = %c0 to %c36
// THREADS-NEXT: scf.for %[[LAST:.*]] = %c448 to %c704 step %c16
// THREADS-NEXT: vector.store %cst{{.*}}, %{{.*}}[%{{.*}}, %[[LAST]]] : memref<36x720xf32>

// Of 2 x 2 tiles, filters of 9 numbers are read, and transformed by the kernel: the sums of 4 tiles by the 6 points of a row stay in registers.
// CHECK-LABEL: func.func private @small(
// CHECK-SAME: tensor<2x9216xf32>
// CHECK: %[[FILTERS:.*]] = bufferization.to_buffer %arg1 read_only : tensor<2x9216xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK-COUNT-6: scf.for %{{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK-NOT: scf.for %{{.*}} iter_args
// CHECK: bufferization.to_tensor

// PANELS-LABEL: func.func private @small(
// The first row of points takes the first rows of filters, the second takes all, and fetches those that come next.
// PANELS: scf.for %{{.*}} iter_args
// PANELS-COUNT-3: vector.load %{{.*}} : memref<2x9216xf32>, vector<16xf32>
// PANELS-NOT: vector.load
// PANELS-COUNT-24: vector.fma
// PANELS-NOT: vector.fma
// PANELS: scf.for %{{.*}} iter_args
// PANELS: memref.prefetch
// PANELS-COUNT-9: vector.load %{{.*}} : memref<2x9216xf32>, vector<16xf32>
// PANELS-NOT: vector.load
// PANELS-COUNT-24: vector.fma
// PANELS-NOT: vector.fma
// PANELS: scf.yield

#all = affine_map<(n, h, w, f) -> (n, h, w, f)>
#feature = affine_map<(n, h, w, f) -> (f)>
func.func @main(%x: tensor<1x30x28x64xf32>, %b: tensor<32xf32>, %y: tensor<1x6x6x2xf32>, %w: tensor<3x3x64x32xf32>,
                %z: tensor<1x22x30x32xf32>, %s: tensor<1x9x9x64xf32>)
    -> (tensor<1x30x28x32xf32>, tensor<1x4x4x2xf32>, tensor<1x14x13x32xf32>, tensor<1x28x26x32xf32>, tensor<1x20x28x64xf32>,
        tensor<1x7x7x32xf32>) {
  %0 = "relax.constant"() {weight = "w"} : () -> tensor<3x3x64x32xf32>
  %1 = tensor.empty() : tensor<1x30x28x32xf32>
  %2 = func.call @conv(%x, %0, %b, %1) : (tensor<1x30x28x64xf32>, tensor<3x3x64x32xf32>, tensor<32xf32>, tensor<1x30x28x32xf32>) -> tensor<1x30x28x32xf32>
  %3 = "relax.constant"() {value = dense<1.0> : tensor<3x3x2x2xf32>} : () -> tensor<3x3x2x2xf32>
  %4 = tensor.empty() : tensor<1x4x4x2xf32>
  %5 = func.call @few(%y, %3, %4) : (tensor<1x6x6x2xf32>, tensor<3x3x2x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %6 = tensor.empty() : tensor<1x14x13x32xf32>
  %7 = func.call @strided(%x, %0, %6) : (tensor<1x30x28x64xf32>, tensor<3x3x64x32xf32>, tensor<1x14x13x32xf32>) -> tensor<1x14x13x32xf32>
  %8 = tensor.empty() : tensor<1x28x26x32xf32>
  %9 = func.call @computed(%x, %w, %8) : (tensor<1x30x28x64xf32>, tensor<3x3x64x32xf32>, tensor<1x28x26x32xf32>) -> tensor<1x28x26x32xf32>
  %10 = "relax.constant"() {value = dense<1.0> : tensor<3x3x32x64xf32>} : () -> tensor<3x3x32x64xf32>
  %11 = tensor.empty() : tensor<1x20x28x64xf32>
  %12 = func.call @uneven(%z, %10, %11) : (tensor<1x22x30x32xf32>, tensor<3x3x32x64xf32>, tensor<1x20x28x64xf32>) -> tensor<1x20x28x64xf32>
  %13 = tensor.empty() : tensor<1x7x7x32xf32>
  %14 = func.call @small(%s, %0, %13) : (tensor<1x9x9x64xf32>, tensor<3x3x64x32xf32>, tensor<1x7x7x32xf32>) -> tensor<1x7x7x32xf32>
  return %2, %5, %7, %9, %12, %14
      : tensor<1x30x28x32xf32>, tensor<1x4x4x2xf32>, tensor<1x14x13x32xf32>, tensor<1x28x26x32xf32>, tensor<1x20x28x64xf32>,
        tensor<1x7x7x32xf32>
}
func.func private @conv(%x: tensor<1x30x28x64xf32>, %w: tensor<3x3x64x32xf32>, %b: tensor<32xf32>,
                        %out: tensor<1x30x28x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x30x28x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x30x28x64xf32> to tensor<1x32x30x64xf32>
  %0 = tensor.empty() : tensor<1x30x28x32xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x30x28x32xf32>) -> tensor<1x30x28x32xf32>
  %2 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%padded, %w : tensor<1x32x30x64xf32>, tensor<3x3x64x32xf32>) outs(%1 : tensor<1x30x28x32xf32>) -> tensor<1x30x28x32xf32>
  %3 = linalg.generic {indexing_maps = [#all, #feature, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%2, %b : tensor<1x30x28x32xf32>, tensor<32xf32>) outs(%out : tensor<1x30x28x32xf32>) {
  ^bb0(%s: f32, %t: f32, %o: f32):
    %4 = arith.addf %s, %t : f32
    linalg.yield %4 : f32
  } -> tensor<1x30x28x32xf32>
  return %3 : tensor<1x30x28x32xf32>
}
func.func private @few(%x: tensor<1x6x6x2xf32>, %w: tensor<3x3x2x2xf32>,
                       %out: tensor<1x4x4x2xf32> {bufferization.writable = true, tir.out}) -> tensor<1x4x4x2xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x6x6x2xf32>, tensor<3x3x2x2xf32>) outs(%0 : tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  return %1 : tensor<1x4x4x2xf32>
}
func.func private @strided(%x: tensor<1x30x28x64xf32>, %w: tensor<3x3x64x32xf32>,
                           %out: tensor<1x14x13x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x14x13x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x14x13x32xf32>) -> tensor<1x14x13x32xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%x, %w : tensor<1x30x28x64xf32>, tensor<3x3x64x32xf32>) outs(%0 : tensor<1x14x13x32xf32>) -> tensor<1x14x13x32xf32>
  return %1 : tensor<1x14x13x32xf32>
}
func.func private @computed(%x: tensor<1x30x28x64xf32>, %w: tensor<3x3x64x32xf32>,
                            %out: tensor<1x28x26x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x28x26x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x28x26x32xf32>) -> tensor<1x28x26x32xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x30x28x64xf32>, tensor<3x3x64x32xf32>) outs(%0 : tensor<1x28x26x32xf32>) -> tensor<1x28x26x32xf32>
  return %1 : tensor<1x28x26x32xf32>
}
func.func private @uneven(%x: tensor<1x22x30x32xf32>, %w: tensor<3x3x32x64xf32>,
                          %out: tensor<1x20x28x64xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x28x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x20x28x64xf32>) -> tensor<1x20x28x64xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x22x30x32xf32>, tensor<3x3x32x64xf32>) outs(%0 : tensor<1x20x28x64xf32>) -> tensor<1x20x28x64xf32>
  return %1 : tensor<1x20x28x64xf32>
}
func.func private @small(%x: tensor<1x9x9x64xf32>, %w: tensor<3x3x64x32xf32>,
                         %out: tensor<1x7x7x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x7x7x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x7x7x32xf32>) -> tensor<1x7x7x32xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x9x9x64xf32>, tensor<3x3x64x32xf32>) outs(%0 : tensor<1x7x7x32xf32>) -> tensor<1x7x7x32xf32>
  return %1 : tensor<1x7x7x32xf32>
}

// Of two groups of 16 channels and features, one goes through all blocks before the next does: a tile has 16 transformed inputs.
// CHECK-LABEL: func.func private @grouped(
// CHECK-SAME: %[[X:.*]]: tensor<1x28x28x32xf32>, %{{.*}}: tensor<72x256xf32>
// CHECK: %[[XB:.*]] = bufferization.to_buffer %[[X]] read_only
// CHECK: memref.alloc() {{.*}} : memref<36x{{[0-9]+}}xf32>
// CHECK: vector.maskedload %[[XB]]
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args
// CHECK: vector.fma
// CHECK-NOT: linalg
func.func @groups(%x: tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3x3x16x32xf32>} : () -> tensor<3x3x16x32xf32>
  %1 = tensor.empty() : tensor<1x28x28x32xf32>
  %2 = func.call @grouped(%x, %0, %1) : (tensor<1x28x28x32xf32>, tensor<3x3x16x32xf32>, tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  return %2 : tensor<1x28x28x32xf32>
}
func.func private @grouped(%x: tensor<1x28x28x32xf32>, %w: tensor<3x3x16x32xf32>,
                           %out: tensor<1x28x28x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x28x28x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x28x28x32xf32> to tensor<1x30x30x32xf32>
  %a = tensor.expand_shape %padded [[0], [1], [2], [3, 4]] output_shape [1, 30, 30, 2, 16] : tensor<1x30x30x32xf32> into tensor<1x30x30x2x16xf32>
  %b = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 16, 2, 16] : tensor<3x3x16x32xf32> into tensor<3x3x16x2x16xf32>
  %c = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 28, 28, 2, 16] : tensor<1x28x28x32xf32> into tensor<1x28x28x2x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<1x28x28x2x16xf32>) -> tensor<1x28x28x2x16xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, g, f, i, j, c) -> (n, h + i, w + j, g, c)>, affine_map<(n, h, w, g, f, i, j, c) -> (i, j, c, g, f)>,
                       affine_map<(n, h, w, g, f, i, j, c) -> (n, h, w, g, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x30x30x2x16xf32>, tensor<3x3x16x2x16xf32>) outs(%f : tensor<1x28x28x2x16xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %s, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x28x28x2x16xf32>
  %d = tensor.collapse_shape %0 [[0], [1], [2], [3, 4]] : tensor<1x28x28x2x16xf32> into tensor<1x28x28x32xf32>
  return %d : tensor<1x28x28x32xf32>
}

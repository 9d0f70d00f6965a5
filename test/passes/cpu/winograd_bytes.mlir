// RUN: legato-opt %s --tir-winograd-convolutions='target=llvm{cpu=x86-64-v3}' --canonicalize --cse | filecheck %s
// RUN: legato-opt %s --tir-winograd-convolutions='target=llvm{cpu=skylake-avx512}' --canonicalize --cse | filecheck %s --check-prefix=WIDE
// RUN: legato-opt %s --tir-winograd-convolutions='target=llvm{cpu=x86-64-v2}' | filecheck %s --check-prefix=NONE

// NONE-NOT: tir.state

// Convolutions of bytes in 16 bits are exact: transforms and products are of integers. Filters that are all 1 leave room for tiles of 4 x 4;
// where they are 127, sums have more than 26 bits, and tiles are of 2 x 2.
// CHECK-LABEL: func.func @main(
// CHECK: {weight = "constant.winograd.i16"} : () -> tensor<72x1024xi16>
// CHECK: {weight = "constant.points.winograd.i16"} : () -> tensor<64x8192xi16>
// Sixteen channels are transformed at a time; rows of padding are left out.
// CHECK-LABEL: func.func private @small(
// CHECK-SAME: %[[X:.*]]: tensor<1x28x28x64xi16>, %{{.*}}: tensor<72x1024xi16>
// CHECK-DAG: %[[NINTH:.*]] = arith.constant dense<954437177> : vector<8xi32>
// CHECK-DAG: %[[XB:.*]] = bufferization.to_buffer %[[X]] read_only
// CHECK: memref.alloc() {{.*}} : memref<36x{{[0-9]+}}xi16>
// CHECK: vector.load %[[XB]]{{.*}} : memref<1x28x28x64xi16>, vector<16xi16>
// CHECK: arith.select %{{.*}} : vector<16xi1>, vector<16xi16>
// CHECK: arith.muli %{{.*}} : vector<16xi16>
// Pairs of channels are multiplied, and summed in i32.
// CHECK: scf.for %{{.*}} = %c0 to %c32 step
// CHECK: "tir.dot2_s16s16"
// The products of a tile come out 9 times as great, times a power of two.
// CHECK: arith.muli %{{.*}}, %[[NINTH]] : vector<8xi32>
// CHECK: arith.shrsi
// CHECK: arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK-NOT: linalg

// CHECK-LABEL: func.func private @large(
// CHECK-SAME: tensor<64x8192xi16>
// CHECK: memref.alloc() {{.*}} : memref<16x{{[0-9]+}}xi16>
// CHECK: "tir.dot2_s16s16"
// Integers of 16 bits that no bytes are stay as they are.
// CHECK-LABEL: func.func private @any(
// CHECK: linalg.generic

// WIDE: vector.load {{.*}} : memref<1x28x28x64xi16>, vector<32xi16>

#x = affine_map<(n, h, w, f, i, j, c, q) -> (n, h + i, w + j, c, q)>
#w = affine_map<(n, h, w, f, i, j, c, q) -> (i, j, c, q, f)>
#y = affine_map<(n, h, w, f, i, j, c, q) -> (n, h, w, f)>
#all = affine_map<(n, h, w, f) -> (n, h, w, f)>

func.func @main(%x: tensor<1x28x28x64xi16>, %z: tensor<1x14x14x512xi16>) -> (tensor<1x28x28x32xf32>, tensor<1x12x12x64xi32>, tensor<1x26x26x32xi32>) {
  %0 = "relax.constant"() {value = dense<1> : tensor<3x3x64x32xi16>} : () -> tensor<3x3x64x32xi16>
  %1 = "relax.constant"() {value = dense<127> : tensor<3x3x512x64xi16>} : () -> tensor<3x3x512x64xi16>
  %2 = "relax.constant"() {value = dense<2> : tensor<3x3x64x32xi16>} : () -> tensor<3x3x64x32xi16>
  %3 = tensor.empty() : tensor<1x28x28x32xf32>
  %4 = tensor.empty() : tensor<1x12x12x64xi32>
  %5 = tensor.empty() : tensor<1x26x26x32xi32>
  %6 = func.call @small(%x, %0, %3) : (tensor<1x28x28x64xi16>, tensor<3x3x64x32xi16>, tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  %7 = func.call @large(%z, %1, %4) : (tensor<1x14x14x512xi16>, tensor<3x3x512x64xi16>, tensor<1x12x12x64xi32>) -> tensor<1x12x12x64xi32>
  %8 = func.call @any(%x, %2, %5) : (tensor<1x28x28x64xi16>, tensor<3x3x64x32xi16>, tensor<1x26x26x32xi32>) -> tensor<1x26x26x32xi32>
  return %6, %7, %8 : tensor<1x28x28x32xf32>, tensor<1x12x12x64xi32>, tensor<1x26x26x32xi32>
}

func.func private @small(%x: tensor<1x28x28x64xi16>, %w: tensor<3x3x64x32xi16>,
                         %out: tensor<1x28x28x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x28x28x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i16
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : i16
  } : tensor<1x28x28x64xi16> to tensor<1x30x30x64xi16>
  %a = tensor.expand_shape %padded [[0], [1], [2], [3, 4]] output_shape [1, 30, 30, 32, 2] : tensor<1x30x30x64xi16> into tensor<1x30x30x32x2xi16>
  %b = tensor.expand_shape %w [[0], [1], [2, 3], [4]] output_shape [3, 3, 32, 2, 32] : tensor<3x3x64x32xi16> into tensor<3x3x32x2x32xi16>
  %e = tensor.empty() : tensor<1x28x28x32xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<1x28x28x32xi32>) -> tensor<1x28x28x32xi32>
  %0 = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x30x30x32x2xi16>, tensor<3x3x32x2x32xi16>) outs(%f : tensor<1x28x28x32xi32>) attrs = {tir.of_bytes} {
  ^bb0(%p: i16, %q: i16, %s: i32):
    %3 = arith.extsi %p : i16 to i32
    %4 = arith.extsi %q : i16 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %s, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<1x28x28x32xi32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0 : tensor<1x28x28x32xi32>) outs(%out : tensor<1x28x28x32xf32>) {
  ^bb0(%p: i32, %q: f32):
    %3 = arith.sitofp %p : i32 to f32
    linalg.yield %3 : f32
  } -> tensor<1x28x28x32xf32>
  return %1 : tensor<1x28x28x32xf32>
}

func.func private @large(%x: tensor<1x14x14x512xi16>, %w: tensor<3x3x512x64xi16>,
                         %out: tensor<1x12x12x64xi32> {bufferization.writable = true, tir.out}) -> tensor<1x12x12x64xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %a = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 14, 14, 256, 2] : tensor<1x14x14x512xi16> into tensor<1x14x14x256x2xi16>
  %b = tensor.expand_shape %w [[0], [1], [2, 3], [4]] output_shape [3, 3, 256, 2, 64] : tensor<3x3x512x64xi16> into tensor<3x3x256x2x64xi16>
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<1x12x12x64xi32>) -> tensor<1x12x12x64xi32>
  %0 = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x14x14x256x2xi16>, tensor<3x3x256x2x64xi16>) outs(%f : tensor<1x12x12x64xi32>) attrs = {tir.of_bytes} {
  ^bb0(%p: i16, %q: i16, %s: i32):
    %3 = arith.extsi %p : i16 to i32
    %4 = arith.extsi %q : i16 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %s, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<1x12x12x64xi32>
  return %0 : tensor<1x12x12x64xi32>
}

func.func private @any(%x: tensor<1x28x28x64xi16>, %w: tensor<3x3x64x32xi16>,
                       %out: tensor<1x26x26x32xi32> {bufferization.writable = true, tir.out}) -> tensor<1x26x26x32xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %a = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 28, 28, 32, 2] : tensor<1x28x28x64xi16> into tensor<1x28x28x32x2xi16>
  %b = tensor.expand_shape %w [[0], [1], [2, 3], [4]] output_shape [3, 3, 32, 2, 32] : tensor<3x3x64x32xi16> into tensor<3x3x32x2x32xi16>
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<1x26x26x32xi32>) -> tensor<1x26x26x32xi32>
  %0 = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      ins(%a, %b : tensor<1x28x28x32x2xi16>, tensor<3x3x32x2x32xi16>) outs(%f : tensor<1x26x26x32xi32>) {
  ^bb0(%p: i16, %q: i16, %s: i32):
    %3 = arith.extsi %p : i16 to i32
    %4 = arith.extsi %q : i16 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.addi %s, %5 : i32
    linalg.yield %6 : i32
  } -> tensor<1x26x26x32xi32>
  return %0 : tensor<1x26x26x32xi32>
}

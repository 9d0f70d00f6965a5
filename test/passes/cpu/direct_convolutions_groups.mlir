// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-direct-convolutions{target="llvm{cpu=znver4}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-direct-convolutions{target="llvm{cpu=cascadelake}"})' | filecheck %s --check-prefix=PLAIN

// Bytes in groups of six channels: a lane has four, the last one the last four, of which two are multiplied with zeros.
// CHECK-LABEL: func.func private @wide(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x9x14x12xi8>
// CHECK: bufferization.to_buffer %{{.*}} read_only : tensor<4x3x2x3x64xi8>
// CHECK: arith.minsi %{{.*}}, %c2{{.*}} : index
// CHECK: vector.load %[[X]][{{.*}} vector<4xi8>
// CHECK: tir.dot4_u8s8
// CHECK-NOT: linalg
// CHECK: return

// Narrow groups share a vector: a shuffle of bytes gives lanes the channels of their group, where the CPU has an instruction.
// CHECK-LABEL: func.func private @narrow(
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 5, 6, 7, 8,
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 6, 7, 8, 9,
// CHECK: tir.dot4_u8s8
// CHECK-NOT: linalg
// CHECK: return
// PLAIN-LABEL: func.func private @narrow(
// PLAIN-NOT: vector.shuffle
// PLAIN: return

// Groups of eight channels and features: in the first four steps the lanes of each group's first quarter take its first four channels, those
// of the second the others; then it is the other way round. So shuffles stay in quarters. Of a large image, each tile fetches what it reads of
// the row below.
// CHECK-LABEL: func.func private @quarters(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x56x56x256xf32>
// CHECK: memref.prefetch %[[X]]{{.*}}, read, locality<2>, data
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12] : vector<16xf32>
// CHECK: vector.fma
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11] : vector<16xf32>
// CHECK-NOT: linalg
// CHECK: return

#x = affine_map<(n, h, w, g, f, i, j, c) -> (n, h + i, w + j, g, c)>
#k = affine_map<(n, h, w, g, f, i, j, c) -> (i, j, c, g, f)>
#y = affine_map<(n, h, w, g, f, i, j, c) -> (n, h, w, g, f)>
func.func @main(%x: tensor<1x9x14x12xi8>, %y: tensor<1x7x12x64xi32>, %z: tensor<1x9x14x20xi8>, %v: tensor<1x7x12x24xi32>) -> (tensor<1x7x12x64xi32>, tensor<1x7x12x24xi32>) {
  %w = "relax.constant"() {value = dense<1> : tensor<3x3x6x64xi8>} : () -> tensor<3x3x6x64xi8>
  %n = "relax.constant"() {value = dense<1> : tensor<3x3x5x24xi8>} : () -> tensor<3x3x5x24xi8>
  %0 = func.call @wide(%x, %w, %y) : (tensor<1x9x14x12xi8>, tensor<3x3x6x64xi8>, tensor<1x7x12x64xi32>) -> tensor<1x7x12x64xi32>
  %1 = func.call @narrow(%z, %n, %v) : (tensor<1x9x14x20xi8>, tensor<3x3x5x24xi8>, tensor<1x7x12x24xi32>) -> tensor<1x7x12x24xi32>
  return %0, %1 : tensor<1x7x12x64xi32>, tensor<1x7x12x24xi32>
}
func.func private @wide(%x: tensor<1x9x14x12xi8>, %w: tensor<3x3x6x64xi8>,
                        %out: tensor<1x7x12x64xi32> {bufferization.writable = true, tir.out}) -> tensor<1x7x12x64xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %image = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 9, 14, 2, 6] : tensor<1x9x14x12xi8> into tensor<1x9x14x2x6xi8>
  %filters = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 6, 2, 32] : tensor<3x3x6x64xi8> into tensor<3x3x6x2x32xi8>
  %own = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 7, 12, 2, 32] : tensor<1x7x12x64xi32> into tensor<1x7x12x2x32xi32>
  %0 = linalg.fill ins(%zero : i32) outs(%own : tensor<1x7x12x2x32xi32>) -> tensor<1x7x12x2x32xi32>
  %1 = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%image, %filters : tensor<1x9x14x2x6xi8>, tensor<3x3x6x2x32xi8>) outs(%0 : tensor<1x7x12x2x32xi32>) {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %c = arith.extui %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %p = arith.muli %c, %d : i32
    %sum = arith.addi %s, %p : i32
    linalg.yield %sum : i32
  } -> tensor<1x7x12x2x32xi32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<1x7x12x2x32xi32> into tensor<1x7x12x64xi32>
  return %2 : tensor<1x7x12x64xi32>
}
func.func private @narrow(%x: tensor<1x9x14x20xi8>, %w: tensor<3x3x5x24xi8>,
                        %out: tensor<1x7x12x24xi32> {bufferization.writable = true, tir.out}) -> tensor<1x7x12x24xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %image = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 9, 14, 4, 5] : tensor<1x9x14x20xi8> into tensor<1x9x14x4x5xi8>
  %filters = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 5, 4, 6] : tensor<3x3x5x24xi8> into tensor<3x3x5x4x6xi8>
  %own = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 7, 12, 4, 6] : tensor<1x7x12x24xi32> into tensor<1x7x12x4x6xi32>
  %0 = linalg.fill ins(%zero : i32) outs(%own : tensor<1x7x12x4x6xi32>) -> tensor<1x7x12x4x6xi32>
  %1 = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%image, %filters : tensor<1x9x14x4x5xi8>, tensor<3x3x5x4x6xi8>) outs(%0 : tensor<1x7x12x4x6xi32>) {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %c = arith.extui %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %p = arith.muli %c, %d : i32
    %sum = arith.addi %s, %p : i32
    linalg.yield %sum : i32
  } -> tensor<1x7x12x4x6xi32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<1x7x12x4x6xi32> into tensor<1x7x12x24xi32>
  return %2 : tensor<1x7x12x24xi32>
}
func.func @large(%x: tensor<1x56x56x256xf32>, %y: tensor<1x54x54x256xf32>) -> tensor<1x54x54x256xf32> {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x8x256xf32>} : () -> tensor<3x3x8x256xf32>
  %0 = func.call @quarters(%x, %w, %y) : (tensor<1x56x56x256xf32>, tensor<3x3x8x256xf32>, tensor<1x54x54x256xf32>) -> tensor<1x54x54x256xf32>
  return %0 : tensor<1x54x54x256xf32>
}
func.func private @quarters(%x: tensor<1x56x56x256xf32>, %w: tensor<3x3x8x256xf32>,
                            %out: tensor<1x54x54x256xf32> {bufferization.writable = true, tir.out}) -> tensor<1x54x54x256xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %image = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 56, 56, 32, 8] : tensor<1x56x56x256xf32> into tensor<1x56x56x32x8xf32>
  %filters = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 8, 32, 8] : tensor<3x3x8x256xf32> into tensor<3x3x8x32x8xf32>
  %own = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 54, 54, 32, 8] : tensor<1x54x54x256xf32> into tensor<1x54x54x32x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%own : tensor<1x54x54x32x8xf32>) -> tensor<1x54x54x32x8xf32>
  %1 = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%image, %filters : tensor<1x56x56x32x8xf32>, tensor<3x3x8x32x8xf32>) outs(%0 : tensor<1x54x54x32x8xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %sum = arith.addf %s, %p : f32
    linalg.yield %sum : f32
  } -> tensor<1x54x54x32x8xf32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<1x54x54x32x8xf32> into tensor<1x54x54x256xf32>
  return %2 : tensor<1x54x54x256xf32>
}

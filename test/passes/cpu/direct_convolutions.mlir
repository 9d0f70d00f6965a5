// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-direct-convolutions{target="llvm{cpu=x86-64-v3}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-direct-convolutions{target="llvm{cpu=x86-64-v3,threads=2}"})' | filecheck %s --check-prefix=THREADS
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-direct-convolutions{target="llvm{cpu=x86-64-v2}"})' | filecheck %s --check-prefix=PLAIN

// The filters are packed: blocks of as many features as a vector has lanes, padded with zeros where a group has fewer.
// CHECK-LABEL: func.func @main(
// CHECK-DAG: tensor<4x3x16x3x8xf32>
// CHECK-DAG: tensor<2x3x2x3x8xf32>

// Of few features, lanes are channels.
// CHECK-LABEL: func.func private @few(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x20x30x64xi8>
// CHECK: vector.load %[[X]][{{.*}} vector<32xi8>
// CHECK: "tir.dot4_u8s8"
// CHECK: vector.reduction <add>, %{{.*}} : vector<8xi32> into i32
// CHECK-NOT: linalg
// CHECK: return

// Of bytes: four channels of an element, as a lane, in all lanes, with those of the features of a vector; the two vectors of a position
// are one for what follows.
// CHECK-LABEL: func.func private @bytes(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x20x30x8xi8>
// CHECK: %[[W:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<2x3x2x3x32xi8>
// CHECK: vector.load %[[W]][{{.*}} vector<32xi8>
// CHECK: vector.load %[[X]][{{.*}} vector<4xi8>
// CHECK: "tir.dot4_u8s8"(%{{.*}}) : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
// CHECK: vector.insert_strided_slice %{{.*}} vector<8xi32> into vector<16xi32>
// CHECK-NOT: linalg
// CHECK: return

// Three channels: lanes have neighbours of a window's row of nine bytes, the last one its last four.
// CHECK-LABEL: func.func private @rows(
// CHECK: bufferization.to_buffer %{{.*}} read_only : tensor<1x3x1x3x32xi8>
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : memref<1x20x30x3xi8> into memref<1x20x90xi8>
// CHECK: scf.for %{{.*}} to %c2
// CHECK: "tir.dot4_u8s8"
// CHECK: "tir.dot4_u8s8"
// CHECK-NOT: linalg
// CHECK: return

// Groups of whole vectors: one goes through all 20 rows before the next. In each step, a channel of the window's row is multiplied with a vector of the filter for each tap.
// CHECK-LABEL: func.func private @wide(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x20x30x32xf32>
// CHECK: %[[W:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<4x3x16x3x8xf32>
// CHECK: scf.for %{{.*}} to %c40
// CHECK: arith.divui %{{.*}}, %c20
// CHECK: %[[FIRST:\w+]] = arith.maxsi
// CHECK: scf.for %[[TAP:\w+]] = %[[FIRST]] to %{{.*}} iter_args
// CHECK: scf.for %[[CHANNEL:\w+]] = %{{.*}} to %c16
// CHECK-COUNT-6: vector.load %[[W]][
// CHECK: memref.load %[[X]]
// CHECK: vector.broadcast
// CHECK: vector.fma
// CHECK-NOT: linalg
// CHECK: return

// Narrow groups: a vector has the features of four, and a shuffle gives each lane the channel of its group. Of five groups, one is left.
// CHECK-LABEL: func.func private @narrow(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x20x30x10xf32>
// CHECK: vector.load %[[X]]{{.*}} vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 0, 2, 2, 4, 4, 6, 6] : vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 1, 3, 3, 5, 5, 7, 7] : vector<8xf32>
// CHECK: vector.load %[[X]]{{.*}} vector<2xf32>
// CHECK: vector.maskedstore
// CHECK-NOT: linalg
// CHECK: return

// THREADS-LABEL: func.func private @wide(
// THREADS: scf.parallel

// Without fused multiply-adds nothing changes, and filters that are no constants stay.
// PLAIN-LABEL: func.func private @wide(
// PLAIN: linalg.generic
// CHECK-LABEL: func.func private @given(
// CHECK: linalg.generic

#x = affine_map<(n, h, w, g, f, i, j, c) -> (n, h + i, w + j, g, c)>
#k = affine_map<(n, h, w, g, f, i, j, c) -> (i, j, c, g, f)>
#y = affine_map<(n, h, w, g, f, i, j, c) -> (n, h, w, g, f)>
func.func @main(%x: tensor<1x20x30x32xf32>, %z: tensor<1x20x30x10xf32>, %k: tensor<3x3x16x32xf32>, %y: tensor<1x20x30x32xf32>,
                %v: tensor<1x20x30x10xf32>, %c: tensor<1x20x30x8xi8>, %d: tensor<1x20x30x16xi32>, %e: tensor<1x20x30x3xi8>,
                %f: tensor<1x9x14x8xi32>, %g: tensor<1x20x30x64xi8>, %h: tensor<1x18x28x2xi32>) -> (tensor<1x20x30x32xf32>, tensor<1x20x30x10xf32>, tensor<1x20x30x32xf32>, tensor<1x20x30x16xi32>,
                                              tensor<1x9x14x8xi32>, tensor<1x18x28x2xi32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x16x32xf32>} : () -> tensor<3x3x16x32xf32>
  %n = "relax.constant"() {value = dense<1.0> : tensor<3x3x2x10xf32>} : () -> tensor<3x3x2x10xf32>
  %b = "relax.constant"() {value = dense<1> : tensor<3x3x8x16xi8>} : () -> tensor<3x3x8x16xi8>
  %r = "relax.constant"() {value = dense<1> : tensor<3x3x3x8xi8>} : () -> tensor<3x3x3x8xi8>
  %3 = func.call @bytes(%c, %b, %d) : (tensor<1x20x30x8xi8>, tensor<3x3x8x16xi8>, tensor<1x20x30x16xi32>) -> tensor<1x20x30x16xi32>
  %4 = func.call @rows(%e, %r, %f) : (tensor<1x20x30x3xi8>, tensor<3x3x3x8xi8>, tensor<1x9x14x8xi32>) -> tensor<1x9x14x8xi32>
  %s = "relax.constant"() {value = dense<1> : tensor<3x3x64x2xi8>} : () -> tensor<3x3x64x2xi8>
  %5 = func.call @few(%g, %s, %h) : (tensor<1x20x30x64xi8>, tensor<3x3x64x2xi8>, tensor<1x18x28x2xi32>) -> tensor<1x18x28x2xi32>
  %0 = func.call @wide(%x, %w, %y) : (tensor<1x20x30x32xf32>, tensor<3x3x16x32xf32>, tensor<1x20x30x32xf32>) -> tensor<1x20x30x32xf32>
  %1 = func.call @narrow(%z, %n, %v) : (tensor<1x20x30x10xf32>, tensor<3x3x2x10xf32>, tensor<1x20x30x10xf32>) -> tensor<1x20x30x10xf32>
  %2 = func.call @given(%x, %k, %y) : (tensor<1x20x30x32xf32>, tensor<3x3x16x32xf32>, tensor<1x20x30x32xf32>) -> tensor<1x20x30x32xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<1x20x30x32xf32>, tensor<1x20x30x10xf32>, tensor<1x20x30x32xf32>, tensor<1x20x30x16xi32>, tensor<1x9x14x8xi32>, tensor<1x18x28x2xi32>
}
#bx = affine_map<(n, h, w, f, i, j, c, q) -> (n, h + i, w + j, c, q)>
#bk = affine_map<(n, h, w, f, i, j, c, q) -> (i, j, c, q, f)>
#by = affine_map<(n, h, w, f, i, j, c, q) -> (n, h, w, f)>
func.func private @few(%x: tensor<1x20x30x64xi8>, %w: tensor<3x3x64x2xi8>,
                       %out: tensor<1x18x28x2xi32> {bufferization.writable = true, tir.out}) -> tensor<1x18x28x2xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %split = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 16, 4] : tensor<1x20x30x64xi8> into tensor<1x20x30x16x4xi8>
  %filters = tensor.expand_shape %w [[0], [1], [2, 3], [4]] output_shape [3, 3, 16, 4, 2] : tensor<3x3x64x2xi8> into tensor<3x3x16x4x2xi8>
  %0 = linalg.fill ins(%zero : i32) outs(%out : tensor<1x18x28x2xi32>) -> tensor<1x18x28x2xi32>
  %1 = linalg.generic {indexing_maps = [#bx, #bk, #by], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
    ins(%split, %filters : tensor<1x20x30x16x4xi8>, tensor<3x3x16x4x2xi8>) outs(%0 : tensor<1x18x28x2xi32>) {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %c = arith.extui %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %p = arith.muli %c, %d : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<1x18x28x2xi32>
  return %1 : tensor<1x18x28x2xi32>
}
func.func private @bytes(%x: tensor<1x20x30x8xi8>, %w: tensor<3x3x8x16xi8>,
                         %out: tensor<1x20x30x16xi32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x16xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i8
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : i8
  } : tensor<1x20x30x8xi8> to tensor<1x22x32x8xi8>
  %split = tensor.expand_shape %padded [[0], [1], [2], [3, 4]] output_shape [1, 22, 32, 2, 4] : tensor<1x22x32x8xi8> into tensor<1x22x32x2x4xi8>
  %filters = tensor.expand_shape %w [[0], [1], [2, 3], [4]] output_shape [3, 3, 2, 4, 16] : tensor<3x3x8x16xi8> into tensor<3x3x2x4x16xi8>
  %0 = linalg.fill ins(%zero : i32) outs(%out : tensor<1x20x30x16xi32>) -> tensor<1x20x30x16xi32>
  %1 = linalg.generic {indexing_maps = [#bx, #bk, #by], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
    ins(%split, %filters : tensor<1x22x32x2x4xi8>, tensor<3x3x2x4x16xi8>) outs(%0 : tensor<1x20x30x16xi32>) {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %c = arith.extui %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %p = arith.muli %c, %d : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<1x20x30x16xi32>
  return %1 : tensor<1x20x30x16xi32>
}
#rx = affine_map<(n, h, w, f, i, j, c) -> (n, h * 2 + i, w * 2 + j, c)>
#rk = affine_map<(n, h, w, f, i, j, c) -> (i, j, c, f)>
#ry = affine_map<(n, h, w, f, i, j, c) -> (n, h, w, f)>
func.func private @rows(%x: tensor<1x20x30x3xi8>, %w: tensor<3x3x3x8xi8>,
                        %out: tensor<1x9x14x8xi32> {bufferization.writable = true, tir.out}) -> tensor<1x9x14x8xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %0 = linalg.fill ins(%zero : i32) outs(%out : tensor<1x9x14x8xi32>) -> tensor<1x9x14x8xi32>
  %1 = linalg.generic {indexing_maps = [#rx, #rk, #ry], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : tensor<1x20x30x3xi8>, tensor<3x3x3x8xi8>) outs(%0 : tensor<1x9x14x8xi32>) {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %c = arith.extui %a : i8 to i32
    %d = arith.extsi %b : i8 to i32
    %p = arith.muli %c, %d : i32
    %q = arith.addi %s, %p : i32
    linalg.yield %q : i32
  } -> tensor<1x9x14x8xi32>
  return %1 : tensor<1x9x14x8xi32>
}
func.func private @wide(%x: tensor<1x20x30x32xf32>, %w: tensor<3x3x16x32xf32>,
                        %out: tensor<1x20x30x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %split = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 2, 16] : tensor<1x20x30x32xf32> into tensor<1x20x30x2x16xf32>
  %padded = tensor.pad %split low[0, 1, 1, 0, 0] high[0, 1, 1, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : f32
  } : tensor<1x20x30x2x16xf32> to tensor<1x22x32x2x16xf32>
  %filters = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 16, 2, 16] : tensor<3x3x16x32xf32> into tensor<3x3x16x2x16xf32>
  %to = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 2, 16] : tensor<1x20x30x32xf32> into tensor<1x20x30x2x16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%to : tensor<1x20x30x2x16xf32>) -> tensor<1x20x30x2x16xf32>
  %1 = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%padded, %filters : tensor<1x22x32x2x16xf32>, tensor<3x3x16x2x16xf32>) outs(%0 : tensor<1x20x30x2x16xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x20x30x2x16xf32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<1x20x30x2x16xf32> into tensor<1x20x30x32xf32>
  return %2 : tensor<1x20x30x32xf32>
}
func.func private @narrow(%x: tensor<1x20x30x10xf32>, %w: tensor<3x3x2x10xf32>,
                        %out: tensor<1x20x30x10xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x10xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %split = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 5, 2] : tensor<1x20x30x10xf32> into tensor<1x20x30x5x2xf32>
  %padded = tensor.pad %split low[0, 1, 1, 0, 0] high[0, 1, 1, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : f32
  } : tensor<1x20x30x5x2xf32> to tensor<1x22x32x5x2xf32>
  %filters = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 2, 5, 2] : tensor<3x3x2x10xf32> into tensor<3x3x2x5x2xf32>
  %to = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 5, 2] : tensor<1x20x30x10xf32> into tensor<1x20x30x5x2xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%to : tensor<1x20x30x5x2xf32>) -> tensor<1x20x30x5x2xf32>
  %1 = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%padded, %filters : tensor<1x22x32x5x2xf32>, tensor<3x3x2x5x2xf32>) outs(%0 : tensor<1x20x30x5x2xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x20x30x5x2xf32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<1x20x30x5x2xf32> into tensor<1x20x30x10xf32>
  return %2 : tensor<1x20x30x10xf32>
}
func.func private @given(%x: tensor<1x20x30x32xf32>, %w: tensor<3x3x16x32xf32>,
                        %out: tensor<1x20x30x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %split = tensor.expand_shape %x [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 2, 16] : tensor<1x20x30x32xf32> into tensor<1x20x30x2x16xf32>
  %padded = tensor.pad %split low[0, 1, 1, 0, 0] high[0, 1, 1, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index, %m: index):
    tensor.yield %zero : f32
  } : tensor<1x20x30x2x16xf32> to tensor<1x22x32x2x16xf32>
  %filters = tensor.expand_shape %w [[0], [1], [2], [3, 4]] output_shape [3, 3, 16, 2, 16] : tensor<3x3x16x32xf32> into tensor<3x3x16x2x16xf32>
  %to = tensor.expand_shape %out [[0], [1], [2], [3, 4]] output_shape [1, 20, 30, 2, 16] : tensor<1x20x30x32xf32> into tensor<1x20x30x2x16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%to : tensor<1x20x30x2x16xf32>) -> tensor<1x20x30x2x16xf32>
  %1 = linalg.generic {indexing_maps = [#x, #k, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%padded, %filters : tensor<1x22x32x2x16xf32>, tensor<3x3x16x2x16xf32>) outs(%0 : tensor<1x20x30x2x16xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<1x20x30x2x16xf32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2], [3, 4]] : tensor<1x20x30x2x16xf32> into tensor<1x20x30x32xf32>
  return %2 : tensor<1x20x30x32xf32>
}

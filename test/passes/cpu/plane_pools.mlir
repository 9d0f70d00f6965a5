// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-plane-pools{target="llvm{cpu=x86-64-v3}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-plane-pools{target="llvm{cpu=x86-64-v3,threads=2}"})' | filecheck %s --check-prefix=THREADS

// Three rows of the image are combined for each row of the result, by a loop over the window's rows for the first one, whose windows reach
// out of the image. What comes of it is kept as two rows, of the even and the odd columns of the padded image, from which vectors of
// neighbouring windows are read.
// CHECK-LABEL: func.func private @strided(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x3x40x64xf32>
// CHECK: %[[KEPT:\w+]] = memref.alloc() {{.*}} : memref<1x20x2x{{.*}}xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c3{{.*}} step
// CHECK: scf.for %{{.*}} = %c1{{.*}} to %c20{{.*}} step
// CHECK-COUNT-24: vector.load %[[X]]
// CHECK: vector.shuffle
// CHECK: vector.store %{{.*}}, %[[KEPT]]
// CHECK: %{{.*}}:8 = scf.for
// CHECK-COUNT-8: vector.load %[[X]]
// CHECK-NOT: vector.load %[[X]]
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %{{.*}} to %c20{{.*}} step
// CHECK-COUNT-12: vector.load %[[KEPT]]
// CHECK-NOT: vector.load %[[KEPT]]
// CHECK-NOT: linalg
// CHECK: return

// THREADS-LABEL: func.func private @strided(
// THREADS-NOT: scf.parallel
// THREADS-LABEL: func.func private @many(
// THREADS: memref.alloc() {{.*}} : memref<2x{{.*}}x1x{{.*}}xf32>
// THREADS: scf.parallel
func.func private @strided(%x: tensor<1x3x40x64xf32>, %out: tensor<1x3x20x32xf32> {tir.out}) -> tensor<1x3x20x32xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x3x40x64xf32> to tensor<1x3x41x65xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x3x20x32xf32>) -> tensor<1x3x20x32xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%padded, %1 : tensor<1x3x41x65xf32>, tensor<3x3xf32>) outs(%0 : tensor<1x3x20x32xf32>) -> tensor<1x3x20x32xf32>
  return %2 : tensor<1x3x20x32xf32>
}

// Without a border all rows are alike. The last vector of a row begins where it ends at the row's end.
// CHECK-LABEL: func.func private @many(
// CHECK-NOT: iter_args
// CHECK: arith.constant 54 : index
// CHECK-NOT: create_mask
// CHECK: return
func.func private @many(%x: tensor<8x30x40x64xf32>, %out: tensor<8x30x38x62xf32> {tir.out}) -> tensor<8x30x38x62xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x30x38x62xf32>) -> tensor<8x30x38x62xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = linalg.pooling_nchw_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%x, %1 : tensor<8x30x40x64xf32>, tensor<3x3xf32>) outs(%0 : tensor<8x30x38x62xf32>) -> tensor<8x30x38x62xf32>
  return %2 : tensor<8x30x38x62xf32>
}

// Vectors of bytes are of as many lanes as there are columns. This CPU has no masks for them: a row's last 15 elements are loaded as
// 8, 4, 2 and 1, and of 16 lanes 15 are written.
// CHECK-LABEL: func.func private @bytes(
// CHECK: vector.load %{{.*}} : memref<2x3x9x31xi8>, vector<16xi8>
// CHECK: vector.load %{{.*}} : memref<2x3x9x31xi8>, vector<8xi8>
// CHECK: vector.load %{{.*}} : memref<2x3x9x31xi8>, vector<4xi8>
// CHECK: vector.load %{{.*}} : memref<2x3x9x31xi8>, vector<2xi8>
// CHECK: vector.load %{{.*}} : memref<2x3x9x31xi8>, vector<1xi8>
// CHECK: arith.maxui {{.*}} : vector<16xi8>
// CHECK: vector.store %{{.*}} : memref<2x3x9x15xi8>, vector<8xi8>
// CHECK: vector.store %{{.*}} : memref<2x3x9x15xi8>, vector<1xi8>
// CHECK-NOT: mask
// CHECK: return
func.func private @bytes(%x: tensor<2x3x9x31xi8>, %out: tensor<2x3x9x15xi8> {tir.out}) -> tensor<2x3x9x15xi8> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i8
  %0 = linalg.fill ins(%zero : i8) outs(%out : tensor<2x3x9x15xi8>) -> tensor<2x3x9x15xi8>
  %1 = tensor.empty() : tensor<1x3xi8>
  %2 = linalg.generic {indexing_maps = [affine_map<(n, c, h, w, j, k) -> (n, c, h + j, w * 2 + k)>, affine_map<(n, c, h, w, j, k) -> (j, k)>,
      affine_map<(n, c, h, w, j, k) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %1 : tensor<2x3x9x31xi8>, tensor<1x3xi8>) outs(%0 : tensor<2x3x9x15xi8>) {
  ^bb0(%a: i8, %b: i8, %c: i8):
    %most = arith.maxui %a, %c : i8
    linalg.yield %most : i8
  } -> tensor<2x3x9x15xi8>
  return %2 : tensor<2x3x9x15xi8>
}

// A border of other numbers, and columns of windows far apart that are not neighbours, are left to loops of scalars.
// CHECK-LABEL: func.func private @bordered(
// CHECK: linalg.pooling_nchw_max
func.func private @bordered(%x: tensor<1x3x8x8xf32>, %out: tensor<1x3x10x8xf32> {tir.out}) -> tensor<1x3x10x8xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 0] high[0, 0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x8x8xf32> to tensor<1x3x10x8xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x3x10x8xf32>) -> tensor<1x3x10x8xf32>
  %1 = tensor.empty() : tensor<1x1xf32>
  %2 = linalg.pooling_nchw_max ins(%padded, %1 : tensor<1x3x10x8xf32>, tensor<1x1xf32>) outs(%0 : tensor<1x3x10x8xf32>) -> tensor<1x3x10x8xf32>
  return %2 : tensor<1x3x10x8xf32>
}

// CHECK-LABEL: func.func private @far_columns(
// CHECK: linalg.pooling_nchw_max
func.func private @far_columns(%x: tensor<1x3x8x40xf32>, %out: tensor<1x3x8x4xf32> {tir.out}) -> tensor<1x3x8x4xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x3x8x4xf32>) -> tensor<1x3x8x4xf32>
  %1 = tensor.empty() : tensor<1x2xf32>
  %2 = linalg.pooling_nchw_max {strides = dense<[1, 10]> : tensor<2xi64>, dilations = dense<[1, 3]> : tensor<2xi64>}
    ins(%x, %1 : tensor<1x3x8x40xf32>, tensor<1x2xf32>) outs(%0 : tensor<1x3x8x4xf32>) -> tensor<1x3x8x4xf32>
  return %2 : tensor<1x3x8x4xf32>
}

// Windows far apart: of 13 columns each, as 8 and 5, what follows is left out; eight vectors, one for a window, are combined to one of eight
// windows by 7 steps.
// CHECK-LABEL: func.func private @far(
// CHECK: %[[KEPT:.*]] = memref.alloc() {{.*}} : memref<1x1x1x{{.*}}xf32>
// CHECK: vector.store %{{.*}}, %[[KEPT]]
// CHECK-COUNT-8: vector.load %[[KEPT]]{{.*}} : memref<1x1x1x{{.*}}xf32>, vector<8xf32>
// CHECK: vector.load %[[KEPT]]
// CHECK-NEXT: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 13, 14, 15] : vector<8xf32>, vector<8xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 8, 9, 10, 11]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [4, 5, 6, 7, 12, 13, 14, 15]
// CHECK: arith.addf
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK-NEXT: arith.addf
// CHECK-NOT: linalg
// CHECK: return
func.func private @far(%x: tensor<1x3x16x130xf32>, %out: tensor<1x3x1x13xf32> {tir.out}) -> tensor<1x3x1x13xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3x1x13xf32>) -> tensor<1x3x1x13xf32>
  %1 = tensor.empty() : tensor<16x13xf32>
  %2 = linalg.pooling_nchw_sum {strides = dense<[1, 9]> : tensor<2xi64>} ins(%x, %1 : tensor<1x3x16x130xf32>, tensor<16x13xf32>)
    outs(%0 : tensor<1x3x1x13xf32>) -> tensor<1x3x1x13xf32>
  return %2 : tensor<1x3x1x13xf32>
}

// Many columns of neighbouring windows are combined by a loop over parts of them.
// CHECK-LABEL: func.func private @long(
// CHECK: scf.for %{{.*}} = %c1 to %c33{{.*}} step %c8{{.*}} iter_args
// CHECK-COUNT-8: arith.addf
// CHECK-NEXT: scf.yield
func.func private @long(%x: tensor<1x3x100xf32>, %out: tensor<1x3x68xf32> {tir.out}) -> tensor<1x3x68xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3x68xf32>) -> tensor<1x3x68xf32>
  %1 = tensor.empty() : tensor<33xf32>
  %2 = linalg.pooling_ncw_sum ins(%x, %1 : tensor<1x3x100xf32>, tensor<33xf32>) outs(%0 : tensor<1x3x68xf32>) -> tensor<1x3x68xf32>
  return %2 : tensor<1x3x68xf32>
}

// Of an unknown size eight rows are kept, or as many as there are left. Rows of the image, and of the result, end with a mask; where windows
// may reach out of the image, the loop over their rows has bounds.
// CHECK-LABEL: func.func private @unknown(
// CHECK: %[[X:.*]] = bufferization.to_buffer %{{.*}} read_only
// CHECK: %[[KEPT:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<1x8x2x?xf32>
// CHECK: %[[ROWS:.*]] = arith.minsi %c8{{.*}}, %{{.*}} : index
// CHECK: vector.load %[[X]]
// CHECK: vector.maskedload %[[X]]
// CHECK: vector.store %{{.*}}, %[[KEPT]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[ROWS]] step
// CHECK: vector.load %[[KEPT]]
// CHECK: vector.store
// CHECK: scf.if
// CHECK: vector.maskedstore
// CHECK-NOT: linalg
// CHECK: return
func.func private @unknown(%x: tensor<?x3x?x?xf32>, %out: tensor<?x3x?x?xf32> {tir.out}) -> tensor<?x3x?x?xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<?x3x?x?xf32> to tensor<?x3x?x?xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%padded, %1 : tensor<?x3x?x?xf32>, tensor<3x3xf32>) outs(%0 : tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  return %2 : tensor<?x3x?x?xf32>
}

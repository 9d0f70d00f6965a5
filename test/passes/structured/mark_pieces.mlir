// RUN: legato-opt %s --tir-mark-pieces | filecheck %s
// The byte at which a kernel's output begins in its input, of slices whose elements are next to each other there.

// CHECK: func.func private @rows{{.*}}tir.piece = 2048
func.func private @rows(%x: tensor<1x64x32xf32>, %out: tensor<1x16x32xf32> {bufferization.writable = true, tir.out}) -> tensor<1x16x32xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[0, 16, 0] [1, 16, 32] [1, 1, 1] : tensor<1x64x32xf32> to tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}

// one row, of which a part, without the axes of length 1
// CHECK: func.func private @part_of_a_row{{.*}}tir.piece = 144
func.func private @part_of_a_row(%x: tensor<4x32xf16>, %out: tensor<8xf16> {bufferization.writable = true, tir.out}) -> tensor<8xf16> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[2, 8] [1, 8] [1, 1] : tensor<4x32xf16> to tensor<1x8xf16>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x8xf16> into tensor<8xf16>
  return %1 : tensor<8xf16>
}

// CHECK-NOT: tir.piece
func.func private @parts_of_rows(%x: tensor<4x32xf32>, %out: tensor<4x16xf32> {bufferization.writable = true, tir.out}) -> tensor<4x16xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[0, 16] [4, 16] [1, 1] : tensor<4x32xf32> to tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

func.func private @every_second_row(%x: tensor<4x32xf32>, %out: tensor<2x32xf32> {bufferization.writable = true, tir.out}) -> tensor<2x32xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[0, 0] [2, 32] [2, 1] : tensor<4x32xf32> to tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

func.func private @computed(%x: tensor<4x32xf32>, %out: tensor<2x32xf32> {bufferization.writable = true, tir.out}) -> tensor<2x32xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[0, 0] [2, 32] [1, 1] : tensor<4x32xf32> to tensor<2x32xf32>
  %1 = linalg.exp ins(%0 : tensor<2x32xf32>) outs(%out : tensor<2x32xf32>) -> tensor<2x32xf32>
  return %1 : tensor<2x32xf32>
}

func.func private @unknown(%x: tensor<?x32xf32>, %out: tensor<2x32xf32> {bufferization.writable = true, tir.out}) -> tensor<2x32xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[2, 0] [2, 32] [1, 1] : tensor<?x32xf32> to tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

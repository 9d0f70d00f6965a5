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

// of sizes that are not known: a number, or an expression of them
// CHECK: func.func private @from_the_third{{.*}}tir.piece = 256 : i64
func.func private @from_the_third(%x: tensor<?x32xf32>, %out: tensor<2x32xf32> {bufferization.writable = true, tir.out}) -> tensor<2x32xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[2, 0] [2, 32] [1, 1] : tensor<?x32xf32> to tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

// CHECK: func.func private @last{{.*}}tir.piece = "x1 * max(0, x0 - 1) * 4"
func.func private @last(%x: tensor<?x?xf32>, %out: tensor<1x?xf32> {bufferization.writable = true, tir.out}) -> tensor<1x?xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
  %before = arith.addi %rows, %c-1 : index
  %begin = arith.maxsi %before, %c0 : index
  %0 = tensor.extract_slice %x[%begin, 0] [1, %columns] [1, 1] : tensor<?x?xf32> to tensor<1x?xf32>
  return %0 : tensor<1x?xf32>
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

// whose second axis is not known to be whole
func.func private @some_columns(%x: tensor<?x?xf32>, %out: tensor<2x?xf32> {bufferization.writable = true, tir.out}) -> tensor<2x?xf32> attributes {tir.prim_func} {
  %c1 = arith.constant 1 : index
  %columns = tensor.dim %out, %c1 : tensor<2x?xf32>
  %0 = tensor.extract_slice %x[2, 0] [2, %columns] [1, 1] : tensor<?x?xf32> to tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// an offset that is data
func.func private @chosen(%x: tensor<4x32xf32>, %at: index, %out: tensor<2x32xf32> {bufferization.writable = true, tir.out}) -> tensor<2x32xf32> attributes {tir.prim_func} {
  %0 = tensor.extract_slice %x[%at, 0] [2, 32] [1, 1] : tensor<4x32xf32> to tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

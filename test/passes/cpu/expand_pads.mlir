// RUN: legato-opt %s --tir-expand-pads --split-input-file | filecheck %s

// Borders above and below, then each row: the image's row, its left end, its right end. A row is what lies in one piece.
// CHECK-LABEL: func.func private @image
// CHECK-NOT: tensor.pad
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<1x4x5x8xf32> into tensor<1x4x40xf32>
// CHECK: vector.transfer_write %{{.*}} : vector<64xf32>, tensor<64xf32>
// CHECK: tensor.extract_slice %{{.*}}[0] [56] [1] : tensor<64xf32> to tensor<56xf32>
// CHECK: tensor.insert_slice {{.*}} : tensor<56xf32> into tensor<1x6x56xf32>
// CHECK: tensor.extract_slice %[[ROWS]][{{.*}}, 0] [1, 1, 40] [1, 1, 1] : tensor<1x4x40xf32> to tensor<40xf32>
// CHECK: tensor.insert_slice {{.*}}[8] [40] [1] : tensor<40xf32> into tensor<56xf32>
// CHECK: tensor.insert_slice {{.*}}[0] [8] [1] : tensor<8xf32> into tensor<56xf32>
// CHECK: %[[ROW:.*]] = tensor.insert_slice {{.*}}[48] [8] [1] : tensor<8xf32> into tensor<56xf32>
// CHECK: tensor.insert_slice %[[ROW]] into
// CHECK: tensor.expand_shape {{.*}} : tensor<1x6x56xf32> into tensor<1x6x7x8xf32>
func.func private @image(%x: tensor<1x4x5x8xf32>, %out: tensor<1x6x7x8xf32> {tir.out, bufferization.writable = true}) -> tensor<1x6x7x8xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x4x5x8xf32> to tensor<1x6x7x8xf32>
  return %0 : tensor<1x6x7x8xf32>
}

// -----

// Rows of a large image are copied in parallel, one write a row.
// CHECK-LABEL: func.func private @large
// CHECK: scf.forall (%{{.*}}) = (0, 1) to (1, 57)
// CHECK: tensor.parallel_insert_slice %{{.*}} : tensor<928xf32> into tensor<1x58x928xf32>
func.func private @large(%x: tensor<1x56x56x16xf32>, %out: tensor<1x58x58x16xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x58x58x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x56x56x16xf32> to tensor<1x58x58x16xf32>
  return %0 : tensor<1x58x58x16xf32>
}

// -----

// Sizes may be dynamic; what is padded with may not depend on the place, and amounts have to be known.
// CHECK-LABEL: func.func private @dynamic
// CHECK-NOT: tensor.pad
// CHECK: scf.forall
func.func private @dynamic(%x: tensor<?x?xf32>, %out: tensor<?x?xf32> {tir.out, bufferization.writable = true}) -> tensor<?x?xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[0, 2] high[0, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<?x?xf32> to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// Only rows are padded, and their length is dynamic: a row ends at the last dynamic dimension.
// CHECK-LABEL: func.func private @dynamic_rows
// CHECK-NOT: tensor.pad
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<1x4x?x8xf32> into tensor<1x4x?xf32>
// CHECK: scf.forall (%{{.*}}) = (0, 1) to (1, 5)
// CHECK: tensor.expand_shape {{.*}} : tensor<1x6x?xf32> into tensor<1x6x?x8xf32>
func.func private @dynamic_rows(%x: tensor<1x4x?x8xf32>, %out: tensor<1x6x?x8xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x6x?x8xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[0, 1, 0, 0] high[0, 1, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x4x?x8xf32> to tensor<1x6x?x8xf32>
  return %0 : tensor<1x6x?x8xf32>
}

// -----

// CHECK-LABEL: func.func private @unknown
// CHECK: tensor.pad
func.func private @unknown(%x: tensor<4xf32>, %n: index, %out: tensor<?xf32> {tir.out, bufferization.writable = true}) -> tensor<?xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[0] high[%n] {
  ^bb0(%a: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

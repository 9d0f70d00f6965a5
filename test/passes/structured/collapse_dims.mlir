// RUN: legato-opt %s --split-input-file --tir-collapse-dims | filecheck %s

// An elementwise kernel is one loop; a row that is broadcast keeps its own.
// CHECK-LABEL: func.func private @chain
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] : tensor<1x5x6x8xf32> into tensor<30x8xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: tensor.expand_shape %{{.*}} : tensor<30x8xf32> into tensor<1x5x6x8xf32>
func.func private @chain(%x: tensor<1x5x6x8xf32>, %b: tensor<8xf32>, %out: tensor<1x5x6x8xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x5x6x8xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x, %b : tensor<1x5x6x8xf32>, tensor<8xf32>) outs(%out : tensor<1x5x6x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x5x6x8xf32>
  return %0 : tensor<1x5x6x8xf32>
}

// -----

// All nests of a kernel agree: rows of two dimensions are one, the reduced two are one. Sizes may be dynamic.
// CHECK-LABEL: func.func private @rows
// CHECK: linalg.fill {{.*}} -> tensor<?xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}}tensor<?x24xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: tensor.expand_shape {{.*}} output_shape [3, %{{.*}}, 4, 6]
func.func private @rows(%x: tensor<3x?x4x6xf32>, %out: tensor<3x?x4x6xf32> {tir.out, bufferization.writable = true}) -> tensor<3x?x4x6xf32>
    attributes {tir.prim_func} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c1 : tensor<3x?x4x6xf32>
  %e = tensor.empty(%n) : tensor<3x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x?xf32>) -> tensor<3x?xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b)>],
                         iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
    ins(%x : tensor<3x?x4x6xf32>) outs(%f : tensor<3x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<3x?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%x, %sum : tensor<3x?x4x6xf32>, tensor<3x?xf32>) outs(%out : tensor<3x?x4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.divf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<3x?x4x6xf32>
  return %0 : tensor<3x?x4x6xf32>
}

// -----

// A transpose keeps the loops that change places; the others go together. A loop whose number the body reads stays by itself.
// CHECK-LABEL: func.func private @transposed
// CHECK: iterator_types = ["parallel", "parallel", "parallel"]{{.*}}tensor<5x2x21xf32>
func.func private @transposed(%x: tensor<2x5x3x7xf32>, %out: tensor<5x2x3x7xf32> {tir.out, bufferization.writable = true}) -> tensor<5x2x3x7xf32>
    attributes {tir.prim_func} {
  %0 = linalg.transpose ins(%x : tensor<2x5x3x7xf32>) outs(%out : tensor<5x2x3x7xf32>) permutation = [1, 0, 2, 3]
  return %0 : tensor<5x2x3x7xf32>
}
// CHECK-LABEL: func.func private @indexed
// CHECK: iterator_types = ["parallel", "parallel"]{{.*}}tensor<6x4xi64>
// CHECK: linalg.index 1
func.func private @indexed(%out: tensor<2x3x4xi64> {tir.out, bufferization.writable = true}) -> tensor<2x3x4xi64> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
    outs(%out : tensor<2x3x4xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 2 : index
    %s = arith.index_cast %i : index to i64
    linalg.yield %s : i64
  } -> tensor<2x3x4xi64>
  return %0 : tensor<2x3x4xi64>
}

// -----

// A contraction's loops have roles: it is left alone.
// CHECK-LABEL: func.func private @contraction
// CHECK: linalg.batch_matmul {{.*}} tensor<1x4x5xf32>
func.func private @contraction(%a: tensor<1x4x3xf32>, %b: tensor<1x3x5xf32>, %out: tensor<1x4x5xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x4x5xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x4x5xf32>) -> tensor<1x4x5xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<1x4x3xf32>, tensor<1x3x5xf32>) outs(%f : tensor<1x4x5xf32>) -> tensor<1x4x5xf32>
  return %0 : tensor<1x4x5xf32>
}

// -----

// Dropping the loop of one step would make d2 * 2 + d3 the index d3, with the input's size for its extent: the kernel stays.
// CHECK-LABEL: func.func private @loose_window
// CHECK-NOT: tensor.collapse_shape
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction"]
func.func private @loose_window(%x: tensor<2x?x3xf32>, %w: tensor<2xf32>, %out: tensor<2x?x1xf32> {tir.out, bufferization.writable = true})
    -> tensor<2x?x1xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<2x?x1xf32>) -> tensor<2x?x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c * 2 + d)>, affine_map<(a, b, c, d) -> (d)>, affine_map<(a, b, c, d) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<2x?x3xf32>, tensor<2xf32>) outs(%0 : tensor<2x?x1xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.subf %p, %q : f32
    %s = arith.maximumf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x?x1xf32>
  return %1 : tensor<2x?x1xf32>
}

// -----

// The size of an expanded tensor is the operand that says it.
// CHECK-LABEL: func.func private @sizes
// CHECK-SAME: %{{.*}}: tensor<4x?xf32>, %[[OUT:.*]]: tensor<2x2x?xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[OUT]]
// CHECK: tensor.expand_shape %{{.*}} output_shape [2, 2, %[[N]]]
// CHECK: tensor.empty(%[[N]])
func.func private @sizes(%x: tensor<4x?xf32>, %out: tensor<2x2x?xf32> {tir.out, bufferization.writable = true}) -> tensor<2x2x?xf32>
    attributes {tir.prim_func} {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %out, %c2 : tensor<2x2x?xf32>
  %view = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, %n] : tensor<4x?xf32> into tensor<2x2x?xf32>
  %again = tensor.dim %view, %c2 : tensor<2x2x?xf32>
  %e = tensor.empty(%again) : tensor<2x2x?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%view : tensor<2x2x?xf32>) outs(%e : tensor<2x2x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.absf %p : f32
    linalg.yield %s : f32
  } -> tensor<2x2x?xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%0 : tensor<2x2x?xf32>) outs(%out : tensor<2x2x?xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x2x?xf32>
  return %1 : tensor<2x2x?xf32>
}

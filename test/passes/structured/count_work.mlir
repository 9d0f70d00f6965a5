// RUN: legato-opt %s --tir-count-work | filecheck %s
// Arithmetic and bytes of each call, as expressions of the sizes of @main's inputs; a table that is gathered from counts as what is taken.

#rows = affine_map<(d0, d1) -> (d0, d1)>
#indices = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x16xf32>, %table: tensor<1000x16xf32>, %at: tensor<?xi64>) -> (tensor<?x16xf32>, tensor<?x16xf32>)
    attributes {relax.signature = (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x16xf32>, tensor<1000x16xf32>, tensor<?xi64, #relax.dims<["m"]>>) -> (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x16xf32, #relax.dims<["m", 16]>>)} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %m = tensor.dim %at, %c0 : tensor<?xi64>
  %0 = tensor.empty(%n) : tensor<?x16xf32>
  // 2 * 8 * 16 * n operations and one more for each element; 4 * (8 n + 128 + 16 n) bytes
  // CHECK: call @product{{.*}}relax.work = ["n * 272", "n * 96 + 512"]
  %1 = call @product(%x, %w, %0) {relax.ops = ["relax.matmul"]} : (tensor<?x8xf32>, tensor<8x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = tensor.empty(%m) : tensor<?x16xf32>
  // 64 m of the table, 8 m of the indices, 64 m of the result
  // CHECK: call @rows{{.*}}relax.work = ["0", "m * 72 + min(16000, m * 16) * 4"]
  %3 = call @rows(%table, %at, %2) : (tensor<1000x16xf32>, tensor<?xi64>, tensor<?x16xf32>) -> tensor<?x16xf32>
  return %1, %3 : tensor<?x16xf32>, tensor<?x16xf32>
}

func.func private @product(%a: tensor<?x8xf32>, %b: tensor<8x16xf32>, %c: tensor<?x16xf32> {bufferization.writable = true, tir.out}) -> tensor<?x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x16xf32>) outs(%0 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<?x16xf32>) outs(%c : tensor<?x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.exp %in : f32
    linalg.yield %3 : f32
  } -> tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}

func.func private @rows(%table: tensor<1000x16xf32>, %at: tensor<?xi64>, %out: tensor<?x16xf32> {bufferization.writable = true, tir.out}) -> tensor<?x16xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#indices, #rows], iterator_types = ["parallel", "parallel"]} ins(%at : tensor<?xi64>) outs(%out : tensor<?x16xf32>) {
  ^bb0(%index: i64, %old: f32):
    %row = arith.index_cast %index : i64 to index
    %column = linalg.index 1 : index
    %1 = tensor.extract %table[%row, %column] : tensor<1000x16xf32>
    linalg.yield %1 : f32
  } -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}

// RUN: legato-opt %s --tir-hoist-row-math | filecheck %s
#element = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// The logarithm of a row's sum, with what is before it, is computed for each row, of an unknown number of rows, too.
// CHECK-LABEL: func.func private @logarithm
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: %[[ROWS:.*]] = tensor.dim %[[SUM]]
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[ROWS]]) : tensor<?xf32>
// CHECK: %[[LOG:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[SUM]] : tensor<?xf32>) outs(%[[EMPTY]] : tensor<?xf32>)
// CHECK-NEXT: bb0(%[[IN:[a-z0-9_]+]]: f32
// CHECK-NEXT: %[[ONE:.*]] = arith.addf %[[IN]], %{{.*}}
// CHECK-NEXT: math.log %[[ONE]]
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[LOG]] :
// CHECK-NOT: math.log
// CHECK: arith.subf
// CHECK-NEXT: linalg.yield
func.func private @logarithm(%x: tensor<?x32xf32>, %none: tensor<?xf32>, %y: tensor<?x32xf32> {tir.out}) -> tensor<?x32xf32> attributes {tir.prim_func} {
  %c = arith.constant 1.0 : f32
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x32xf32>) outs(%none : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
  } -> tensor<?xf32>
  %z = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<?x32xf32>, tensor<?xf32>) outs(%y : tensor<?x32xf32>) {
    ^bb0(%in: f32, %total: f32, %out: f32):
      %one = arith.addf %total, %c : f32
      %l = math.log %one : f32
      %d = arith.subf %in, %l : f32
      linalg.yield %d : f32
  } -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}

// A root takes no longer than a read; what is read twice, or is the function of an argument, stays.
// CHECK-LABEL: func.func private @others
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
func.func private @others(%x: tensor<8x32xf32>, %a: tensor<8xf32>, %none: tensor<8xf32>, %y: tensor<8x32xf32> {tir.out}) -> tensor<8x32xf32>
    attributes {tir.prim_func} {
  %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x32xf32>) outs(%none : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %s = arith.addf %in, %out : f32
      linalg.yield %s : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#element, #row, #row, #row, #element], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum, %sum, %a : tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8x32xf32>) {
    ^bb0(%in: f32, %total: f32, %again: f32, %given: f32, %out: f32):
      %root = math.sqrt %total : f32
      %e = math.exp %again : f32
      %both = arith.mulf %e, %again : f32
      %l = math.log %given : f32
      %d = arith.addf %in, %root : f32
      %f = arith.addf %d, %both : f32
      %g = arith.addf %f, %l : f32
      linalg.yield %g : f32
  } -> tensor<8x32xf32>
  return %z : tensor<8x32xf32>
}

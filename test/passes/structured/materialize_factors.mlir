// RUN: legato-opt %s --split-input-file --tir-materialize-factors | filecheck %s

// The quotients of an attention are a tensor of their own: what is left is a batch matmul.
// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-LABEL: func.func private @weighted
// CHECK: %[[Q:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<2x9x5xf32>, tensor<2x9xf32>) outs(%{{.*}} : tensor<2x9x5xf32>)
// CHECK: arith.divf
// CHECK: linalg.generic {indexing_maps = [#[[LEFT]], {{.*}} ins(%[[Q]], %arg2
// CHECK-NOT: arith.divf
// CHECK: arith.mulf
// CHECK-NEXT: arith.addf
#e = affine_map<(h, i, k, j) -> (h, i, j)>
#s = affine_map<(h, i, k, j) -> (h, i)>
#v = affine_map<(h, i, k, j) -> (h, j, k)>
#o = affine_map<(h, i, k, j) -> (h, i, k)>
func.func private @weighted(%e: tensor<2x9x5xf32>, %s: tensor<2x9xf32>, %v: tensor<2x5x4xf32>, %out: tensor<2x9x4xf32> {tir.out}) -> tensor<2x9x4xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#e, #s, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%e, %s, %v : tensor<2x9x5xf32>, tensor<2x9xf32>, tensor<2x5x4xf32>) outs(%out : tensor<2x9x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %acc: f32):
    %q = arith.divf %a, %b : f32
    %p = arith.mulf %q, %c : f32
    %t = arith.addf %acc, %p : f32
    linalg.yield %t : f32
  } -> tensor<2x9x4xf32>
  return %0 : tensor<2x9x4xf32>
}

// -----

// A factor that depends on all loops is computed once anyway.
// CHECK-LABEL: func.func private @squares
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
#x = affine_map<(i, j) -> (i, j)>
#m = affine_map<(i, j) -> (i)>
func.func private @squares(%x: tensor<4x8xf32>, %m: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#x, #m, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<4x8xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %d = arith.subf %a, %b : f32
    %p = arith.mulf %d, %d : f32
    %t = arith.addf %acc, %p : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

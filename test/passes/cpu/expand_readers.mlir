// RUN: legato-opt %s --tir-expand-readers | filecheck %s

// An elementwise op reads the contraction of groups as it is; the reshape comes last.
// CHECK-LABEL: func.func private @groups
// CHECK: %[[PRODUCT:.*]] = linalg.generic {{.*}}"reduction"]
// CHECK: %[[BIAS:.*]] = tensor.expand_shape %arg2 {{.*}} : tensor<1x12xf32> into tensor<1x3x4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %[[BIAS]] : tensor<5x3x4xf32>, tensor<1x3x4xf32>)
// CHECK: tensor.collapse_shape
// CHECK-NEXT: return
func.func private @groups(%x: tensor<5x3x2xf32>, %w: tensor<3x2x4xf32>, %b: tensor<1x12xf32>,
    %out: tensor<5x12xf32> {tir.out, bufferization.writable = true}) -> tensor<5x12xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x3x4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(n, g, f, c) -> (n, g, c)>, affine_map<(n, g, f, c) -> (g, c, f)>,
      affine_map<(n, g, f, c) -> (n, g, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x3x2xf32>, tensor<3x2x4xf32>) outs(%0 : tensor<5x3x4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %r, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<5x3x4xf32>
  %flat = tensor.collapse_shape %1 [[0], [1, 2]] : tensor<5x3x4xf32> into tensor<5x12xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%flat, %b : tensor<5x12xf32>, tensor<1x12xf32>) outs(%out : tensor<5x12xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %3 = arith.addf %p, %q : f32
    linalg.yield %3 : f32
  } -> tensor<5x12xf32>
  return %2 : tensor<5x12xf32>
}

// So is one that reads what an elementwise op makes of the contraction before the reshape.
// CHECK-LABEL: func.func private @rounded_groups
// CHECK: %[[HALF:.*]] = linalg.generic {{.*}}outs(%{{.*}} : tensor<5x3x4xf16>)
// CHECK: linalg.generic {{.*}} ins(%[[HALF]] : tensor<5x3x4xf16>) outs(%{{.*}} : tensor<5x3x4xf32>)
// CHECK: tensor.collapse_shape
// CHECK-NEXT: return
func.func private @rounded_groups(%x: tensor<5x3x2xf32>, %w: tensor<3x2x4xf32>,
    %out: tensor<5x12xf32> {tir.out, bufferization.writable = true}) -> tensor<5x12xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x3x4xf32>
  %h = tensor.empty() : tensor<5x3x4xf16>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(n, g, f, c) -> (n, g, c)>, affine_map<(n, g, f, c) -> (g, c, f)>,
      affine_map<(n, g, f, c) -> (n, g, f)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<5x3x2xf32>, tensor<3x2x4xf32>) outs(%0 : tensor<5x3x4xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %4 = arith.mulf %p, %q : f32
    %5 = arith.addf %r, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<5x3x4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<5x3x4xf32>) outs(%h : tensor<5x3x4xf16>) {
  ^bb0(%p: f32, %q: f16):
    %4 = arith.truncf %p : f32 to f16
    linalg.yield %4 : f16
  } -> tensor<5x3x4xf16>
  %flat = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<5x3x4xf16> into tensor<5x12xf16>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%flat : tensor<5x12xf16>) outs(%out : tensor<5x12xf32>) {
  ^bb0(%p: f16, %q: f32):
    %4 = arith.extf %p : f16 to f32
    linalg.yield %4 : f32
  } -> tensor<5x12xf32>
  return %3 : tensor<5x12xf32>
}

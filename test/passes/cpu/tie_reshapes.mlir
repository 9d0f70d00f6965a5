// RUN: legato-opt %s --tir-tie-reshapes | filecheck %s

// What is returned reshaped is written to the output through a reshape.
// CHECK-LABEL: func.func private @flat
// CHECK: %[[OUT:.*]] = tensor.expand_shape %arg1 {{.*}} : tensor<12xf32> into tensor<3x4xf32>
// CHECK: %[[R:.*]] = linalg.exp {{.*}} outs(%[[OUT]]
// CHECK: tensor.collapse_shape %[[R]]
func.func private @flat(%x: tensor<3x4xf32>, %out: tensor<12xf32> {tir.out, bufferization.writable = true}) -> tensor<12xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<3x4xf32>
  %0 = linalg.exp ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  return %1 : tensor<12xf32>
}

// RUN: legato-opt %s --split-input-file --tir-split-kernels | filecheck %s

// Two matmuls and what lies between them: three kernels, with the intermediate results in main, and the model's name on each call.
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[Y:.*]] = tensor.empty() : tensor<8x4xf32>
// CHECK: %[[E0:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK: %[[A:.*]] = call @mlp_matmul(%arg0, %arg1, %[[E0]]) {relax.ops = ["relax.mlp up"]}
// CHECK: %[[E1:.*]] = tensor.empty() : tensor<8x8xf32>
// CHECK: %[[B:.*]] = call @mlp_elementwise(%[[A]], %[[E1]]) {relax.ops = ["relax.mlp up"]}
// CHECK: %[[C:.*]] = call @mlp_matmul_0(%[[B]], %arg2, %[[Y]]) {relax.ops = ["relax.mlp up"]}
// CHECK: return %[[C]]
// CHECK-NOT: @mlp(
// CHECK: func.func private @mlp_matmul(
// CHECK: linalg.matmul
// CHECK: func.func private @mlp_elementwise(
// CHECK: math.tanh
// CHECK: func.func private @mlp_matmul_0(
// CHECK: linalg.fill {{.*}} outs(%arg2 : tensor<8x4xf32>)
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<8x16xf32>, %u: tensor<16x8xf32>, %d: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = tensor.empty() : tensor<8x4xf32>
  %0 = call @mlp(%x, %u, %d, %y) {relax.ops = ["relax.mlp up"]} : (tensor<8x16xf32>, tensor<16x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @mlp(%x: tensor<8x16xf32>, %u: tensor<16x8xf32>, %d: tensor<8x4xf32>, %out: tensor<8x4xf32> {tir.out}) -> tensor<8x4xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %h = tensor.empty() : tensor<8x8xf32>
  %h0 = linalg.fill ins(%zero : f32) outs(%h : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = linalg.matmul ins(%x, %u : tensor<8x16xf32>, tensor<16x8xf32>) outs(%h0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x8xf32>) outs(%h : tensor<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = linalg.matmul ins(%b, %d : tensor<8x8xf32>, tensor<8x4xf32>) outs(%o0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}

// -----

// The transposes of a constant are computed: the constant changes, and no kernel is left of it.
// CHECK-LABEL: func.func @main(
// CHECK: "relax.constant"() {{.*}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]
// CHECK: call @k_matmul(
// CHECK-NOT: @k_transpose
#t = affine_map<(i, j) -> (j, i)>
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %w = "relax.constant"() {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
  %y = tensor.empty() : tensor<8x2xf32>
  %0 = call @k(%x, %w, %y) : (tensor<8x2xf32>, tensor<2x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
func.func private @k(%x: tensor<8x2xf32>, %w: tensor<2x2xf32>, %out: tensor<8x2xf32> {tir.out}) -> tensor<8x2xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<2x2xf32>
  %wt = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<8x2xf32>) -> tensor<8x2xf32>
  %0 = linalg.matmul ins(%x, %wt : tensor<8x2xf32>, tensor<2x2xf32>) outs(%fill : tensor<8x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

// A kernel that reads what its output held stays whole.
// CHECK-LABEL: func.func @main(
// CHECK: call @accumulating(
// CHECK: func.func private @accumulating(
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = tensor.empty() : tensor<8x8xf32>
  %0 = call @accumulating(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @accumulating(%x: tensor<8x8xf32>, %out: tensor<8x8xf32> {tir.out}) -> tensor<8x8xf32> attributes {tir.prim_func} {
  %0 = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%out : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%0, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%out : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// What nothing reads becomes no kernel.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: call @with_dead_work_matmul
// CHECK-NOT: call
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = tensor.empty() : tensor<8x8xf32>
  %0 = call @with_dead_work(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @with_dead_work(%x: tensor<8x8xf32>, %out: tensor<8x8xf32> {tir.out}) -> tensor<8x8xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %unread = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %o: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %g = linalg.fill ins(%zero : f32) outs(%out : tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = linalg.matmul ins(%a, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%g : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// -----

// A copy into the output does not keep a kernel whole, nor does an input that is returned: main has it.
// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.*]] = call @copying_matmul(%arg0, %arg1,
// CHECK: %[[B:.*]] = call @copying_matmul_0(%[[A]], %arg1,
// CHECK: %[[C:.*]] = call @copying_elementwise(%[[B]],
// CHECK: return %[[C]], %arg1
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %0:2 = call @copying(%x, %w, %e, %e)
      : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @copying(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %out: tensor<8x8xf32> {tir.out}, %same: tensor<8x8xf32> {tir.out})
    -> (tensor<8x8xf32>, tensor<8x8xf32>) attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%0, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.copy ins(%1 : tensor<8x8xf32>) outs(%out : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2, %w : tensor<8x8xf32>, tensor<8x8xf32>
}

// RUN: legato-opt %s --split-input-file --relax-legalize=target=generic --cse --tir-fuse --symbol-dce --canonicalize --linalg-fuse-elementwise-ops --canonicalize --cse --tir-tie-outputs | filecheck %s

// What works on each element joins the matmul before it: one kernel, one call, written into the output.
// CHECK-LABEL: func.func @epilogue(
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4x16xf32>
// CHECK-NEXT: %[[Y:.*]] = call @fused_matmul_add_relu(%arg0, %arg1, %arg2, %[[E]])
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @fused_matmul_add_relu(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<8x16xf32>, %{{.*}}: tensor<16xf32>, %[[OUT:.*]]: tensor<4x16xf32>
// CHECK: linalg.matmul
// CHECK: linalg.generic {{.*}} outs(%[[OUT]] : tensor<4x16xf32>)
// CHECK-NOT: linalg.generic
// CHECK-NOT: func.func
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = "relax.add"(%0, %b) : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %2 = "relax.relu"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// A result that has two readers is made once: nothing is computed twice.
// CHECK-LABEL: func.func @two_readers(
// CHECK: %[[A:.*]] = call @kernel_exp(
// CHECK: call @kernel_neg{{.*}}(%[[A]],
// CHECK: return
func.func @two_readers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What several calls read joins them where all of them are in one group: the matmul's result is read by a product and inside of the gate.
// CHECK-LABEL: func.func @gated(
// CHECK: call @fused_matmul_multiply_sigmoid_multiply(
// CHECK-NOT: call
// CHECK: return
// CHECK: func.func private @fused_matmul_multiply_sigmoid_multiply(
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: ^bb0(%[[Y:[^:]*]]: f32, %{{[^:]*}}: f32):
// CHECK: arith.mulf %[[Y]]
// CHECK: arith.mulf %[[Y]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @gated(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %c = "relax.constant"() {value = dense<1.702> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = "relax.multiply"(%0, %c) : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %2 = "relax.sigmoid"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = "relax.multiply"(%0, %2) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// A value that several calls inside read, and none of them the last, joins too; one that is also returned does not.
// CHECK-LABEL: func.func @inner_readers(
// CHECK: %[[A:.*]] = call @kernel_exp(
// CHECK: %[[Z:.*]] = call @fused_tanh_sin_cos_add(%[[A]],
// CHECK: return %[[Z]], %[[A]]
func.func @inner_readers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.sin"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "relax.cos"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.add"(%2, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What is read in two orders is made once, and read from memory.
// CHECK-LABEL: func.func @two_orders(
// CHECK: %[[A:.*]] = call @kernel_exp(
// CHECK: call @{{.*}}(%[[A]],
// CHECK: return
func.func @two_orders(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = call @turned_sine(%0, %e) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.cos"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "relax.add"(%1, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
func.func private @turned_sine(%x: tensor<4x4xf32>, %y: tensor<4x4xf32> {tir.out}) -> tensor<4x4xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.sin %in : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// One reader may read a result twice: a difference and its square join the sum, as exporters write a variance.
// CHECK-LABEL: func.func @read_twice(
// CHECK: call @fused_subtract_multiply_sum(
// CHECK-NOT: call
// CHECK: return
// CHECK: func.func private @fused_subtract_multiply_sum(
// CHECK: linalg.generic
// CHECK: %[[D:.*]] = arith.subf
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK-NEXT: arith.addf %[[S]]
// CHECK-NOT: linalg.generic
func.func @read_twice(%x: tensor<8x16xf32>, %m: tensor<8x1xf32>) -> tensor<8xf32> {
  %0 = "relax.subtract"(%x, %m) : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  %1 = "relax.multiply"(%0, %0) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = "relax.sum"(%1) {axis = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// Of two matmuls whose results meet, one takes the addition; two groups of the same shape are one kernel.
// CHECK-LABEL: func.func @two_heavy(
// CHECK: %[[A:.*]] = call @kernel_matmul(
// CHECK: %[[B:.*]] = call @fused_matmul_add(
// CHECK: %[[C:.*]] = call @fused_matmul_add(
// CHECK: return %[[C]]
func.func @two_heavy(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.matmul"(%0, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "relax.matmul"(%2, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "relax.add"(%2, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// What the first of two matmuls passes on is the narrowest that it computes: the other one's kernel widens it.
// CHECK-LABEL: func.func @narrow(
// CHECK: %[[A:.*]] = call @fused_matmul_relu_astype({{.*}} -> tensor<4x4xf16>
// CHECK: call @fused_{{.*}}(%[[A]],{{.*}} -> tensor<4x4xf32>
// CHECK-NOT: call
// CHECK: return
func.func @narrow(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %s: tensor<f32>) -> tensor<4x4xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.astype"(%1) {dtype = f16} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %3 = "relax.astype"(%2) {dtype = f32} : (tensor<4x4xf16>) -> tensor<4x4xf32>
  %4 = "relax.multiply"(%3, %s) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %5 = "relax.matmul"(%w, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = "relax.add"(%4, %5) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// -----

// Before a softmax: scale and mask are part of its kernel.
// CHECK-LABEL: func.func @prologue(
// CHECK: call @fused_multiply_add_softmax(
// CHECK-NOT: call
// CHECK: return
func.func @prologue(%x: tensor<?x8xf32, #relax.dims<["n", 8]>>, %s: tensor<f32>, %m: tensor<8xf32>) -> tensor<?x8xf32, #relax.dims<["n", 8]>> {
  %0 = "relax.multiply"(%x, %s) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<f32>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  %1 = "relax.add"(%0, %m) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8xf32>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  %2 = "relax.softmax"(%1) {axis = 1 : i64} : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  return %2 : tensor<?x8xf32, #relax.dims<["n", 8]>>
}

// -----

// Before a sum that drops an axis of unknown size: the sizes of what is summed are those of inputs. What has a size that no input has stays
// a kernel of its own.
// CHECK-LABEL: func.func @summed(
// CHECK: call @fused_multiply_exp_sum(
// CHECK: call @fused_arange_exp(
// CHECK: call @kernel_sum
// CHECK: func.func private @fused_multiply_exp_sum(%[[X:.*]]: tensor<?x?xf32>, %[[Y:.*]]: tensor<?xf32>, %{{.*}}: tensor<?xf32>
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[X]], %[[Y]] :
func.func @summed(%x: tensor<?x?xf32, #relax.dims<["n", "m"]>>, %y: tensor<?xf32, #relax.dims<["m"]>>, %s: tensor<f32>)
    -> (tensor<?xf32, #relax.dims<["n"]>>, tensor<f32>) {
  %0 = "relax.multiply"(%x, %y) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  %1 = "relax.exp"(%0) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  %2 = "relax.sum"(%1) {axis = array<i64: 1>} : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  %3 = "relax.arange"(%s, %s) {shape = #relax.dims<["n"]>} : (tensor<f32>, tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>
  %4 = "relax.exp"(%3) : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  %5 = "relax.sum"(%4) : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<f32>
  return %2, %5 : tensor<?xf32, #relax.dims<["n"]>>, tensor<f32>
}

// -----

// A result that is returned reshaped is computed in its output, reshaped the other way.
// CHECK-LABEL: func.func private @flat
// CHECK: %[[OUT:.*]] = tensor.expand_shape %arg1 {{.*}} : tensor<12xf32> into tensor<3x4xf32>
// CHECK: %[[R:.*]] = linalg.exp {{.*}} outs(%[[OUT]]
// CHECK: tensor.collapse_shape %[[R]]
func.func @reshaped(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  %e = tensor.empty() : tensor<12xf32>
  %0 = call @flat(%x, %e) : (tensor<3x4xf32>, tensor<12xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
func.func private @flat(%x: tensor<3x4xf32>, %out: tensor<12xf32> {tir.out, bufferization.writable = true}) -> tensor<12xf32> attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<3x4xf32>
  %0 = linalg.exp ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  return %1 : tensor<12xf32>
}

// -----

// So do kernels of a loop, with each other; not with those in front of it.
// CHECK-LABEL: func.func @stepped
// CHECK: call @kernel_negative
// CHECK: scf.for
// CHECK:   call @fused_matmul_relu_add(
// CHECK-NOT: call
func.func @stepped(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = "relax.negative"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<4x4xf32>) {
    %0 = "relax.matmul"(%s, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "relax.relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "relax.add"(%1, %m) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %2 : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// -----

// A kernel with ops of tir, which upstream's inliner does not know, becomes a part of its neighbour like others.
// CHECK-LABEL: func.func @intrinsic(
// CHECK: call @fused_astype_lgamma(
// CHECK: func.func private @fused_astype_lgamma(
// CHECK: linalg.generic
// CHECK: %[[X:.*]] = arith.sitofp
// CHECK-NEXT: %[[Y:.*]] = "tir.lgamma"(%[[X]])
// CHECK-NEXT: linalg.yield %[[Y]]
// CHECK-NOT: func.call
func.func @intrinsic(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<4xi32>) -> tensor<4xf32>
  %1 = "relax.lgamma"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

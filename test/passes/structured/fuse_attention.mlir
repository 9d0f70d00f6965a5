// RUN: legato-opt %s --split-input-file --relax-legalize=target=generic --canonicalize --cse --tir-fuse-attention='target=llvm{cpu=x86-64-v3}' --symbol-dce --canonicalize --cse | filecheck %s

// From the product with keys to that with values, a scale and a mask in between, and the transposes around: one kernel. What stands between
// is inside of it, and main has no scores.
// CHECK-LABEL: func.func @attention(
// CHECK: %[[OUT:.*]] = tensor.empty() : tensor<2x16x3x8xf32>
// CHECK-NEXT: %[[Y:.*]] = call @fused_attention(%{{.*}}, %[[OUT]]) {relax.ops = ["relax.permute_dims", "relax.matmul", "relax.multiply", "relax.add", "relax.softmax"]}
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @fused_attention(
// CHECK: tensor.empty() : tensor<2x3x16x32xf32>
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NOT: func.func
func.func @attention(%q: tensor<2x16x3x8xf32>, %k: tensor<2x32x3x8xf32>, %v: tensor<2x32x3x8xf32>, %m: tensor<2x1x1x32xf32>) -> tensor<2x16x3x8xf32> {
  %scale = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.permute_dims"(%q) {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x16x3x8xf32>) -> tensor<2x3x16x8xf32>
  %1 = "relax.permute_dims"(%k) {axes = array<i64: 0, 2, 3, 1>} : (tensor<2x32x3x8xf32>) -> tensor<2x3x8x32xf32>
  %2 = "relax.permute_dims"(%v) {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x32x3x8xf32>) -> tensor<2x3x32x8xf32>
  %3 = "relax.matmul"(%0, %1) : (tensor<2x3x16x8xf32>, tensor<2x3x8x32xf32>) -> tensor<2x3x16x32xf32>
  %4 = "relax.multiply"(%3, %scale) : (tensor<2x3x16x32xf32>, tensor<f32>) -> tensor<2x3x16x32xf32>
  %5 = "relax.add"(%4, %m) : (tensor<2x3x16x32xf32>, tensor<2x1x1x32xf32>) -> tensor<2x3x16x32xf32>
  %6 = "relax.softmax"(%5) : (tensor<2x3x16x32xf32>) -> tensor<2x3x16x32xf32>
  %7 = "relax.matmul"(%6, %2) : (tensor<2x3x16x32xf32>, tensor<2x3x32x8xf32>) -> tensor<2x3x16x8xf32>
  %8 = "relax.permute_dims"(%7) {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x3x16x8xf32>) -> tensor<2x16x3x8xf32>
  return %8 : tensor<2x16x3x8xf32>
}

// -----

// Queries, keys and values that are cut from one tensor are read where they stand in it; not those whose rows are cut, which may lie at any
// address.
// CHECK-LABEL: func.func @slices(
// CHECK: call @kernel_strided_slice
// CHECK: call @fused_attention(%arg0, %{{.*}}) {relax.ops = ["relax.strided_slice", "relax.permute_dims", "relax.matmul", "relax.softmax"]}
// CHECK: call @fused_attention_0(%{{.*}}) {relax.ops = ["relax.permute_dims", "relax.matmul", "relax.softmax"]}
// CHECK: func.func private @fused_attention(
// CHECK-COUNT-3: tensor.extract_slice
func.func @slices(%x: tensor<?x16x9x8xf32, #relax.dims<["n", 16, 9, 8]>>, %y: tensor<?x16x3x9xf32, #relax.dims<["n", 16, 3, 9]>>)
    -> (tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>, tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>) {
  %q = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[3]>, strides = array<i64: 1>, axes = array<i64: 2>} : (tensor<?x16x9x8xf32, #relax.dims<["n", 16, 9, 8]>>) -> tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>
  %k = "relax.strided_slice"(%x) {begin = #relax.dims<[3]>, end = #relax.dims<[6]>, strides = array<i64: 1>, axes = array<i64: 2>} : (tensor<?x16x9x8xf32, #relax.dims<["n", 16, 9, 8]>>) -> tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>
  %v = "relax.strided_slice"(%x) {begin = #relax.dims<[6]>, end = #relax.dims<[9]>, strides = array<i64: 1>, axes = array<i64: 2>} : (tensor<?x16x9x8xf32, #relax.dims<["n", 16, 9, 8]>>) -> tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>
  %u = "relax.strided_slice"(%y) {begin = #relax.dims<[1]>, end = #relax.dims<[9]>, strides = array<i64: 1>, axes = array<i64: 3>} : (tensor<?x16x3x9xf32, #relax.dims<["n", 16, 3, 9]>>) -> tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>
  %0 = "relax.permute_dims"(%q) {axes = array<i64: 0, 2, 1, 3>} : (tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>) -> tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>
  %1 = "relax.permute_dims"(%k) {axes = array<i64: 0, 2, 3, 1>} : (tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>) -> tensor<?x3x8x16xf32, #relax.dims<["n", 3, 8, 16]>>
  %2 = "relax.permute_dims"(%v) {axes = array<i64: 0, 2, 1, 3>} : (tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>) -> tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>
  %3 = "relax.matmul"(%0, %1) : (tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>, tensor<?x3x8x16xf32, #relax.dims<["n", 3, 8, 16]>>) -> tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>
  %4 = "relax.softmax"(%3) : (tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>) -> tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>
  %5 = "relax.matmul"(%4, %2) : (tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>, tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>) -> tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>
  %6 = "relax.permute_dims"(%u) {axes = array<i64: 0, 2, 1, 3>} : (tensor<?x16x3x8xf32, #relax.dims<["n", 16, 3, 8]>>) -> tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>
  %7 = "relax.permute_dims"(%5) {axes = array<i64: 0, 1, 3, 2>} : (tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>) -> tensor<?x3x8x16xf32, #relax.dims<["n", 3, 8, 16]>>
  %8 = "relax.matmul"(%6, %7) : (tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>, tensor<?x3x8x16xf32, #relax.dims<["n", 3, 8, 16]>>) -> tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>
  %9 = "relax.softmax"(%8) : (tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>) -> tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>
  %10 = "relax.matmul"(%9, %5) : (tensor<?x3x16x16xf32, #relax.dims<["n", 3, 16, 16]>>, tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>) -> tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>
  return %5, %10 : tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>, tensor<?x3x16x8xf32, #relax.dims<["n", 3, 16, 8]>>
}

// -----

// The sizes of what is inside come from the kernel's inputs.
// CHECK-LABEL: func.func @symbolic(
// CHECK: call @fused_attention(
// CHECK: func.func private @fused_attention(%[[K:.*]]: tensor<3x?x8xf32>, %[[Q:.*]]: tensor<3x?x8xf32>, %{{.*}}: tensor<3x?x8xf32>, %
// CHECK: %[[N:.*]] = tensor.dim %[[K]], %c1
// CHECK: %[[M:.*]] = tensor.dim %[[Q]], %c1
// CHECK: tensor.empty(%[[M]], %[[N]]) : tensor<3x?x?xf32>
func.func @symbolic(%q: tensor<3x?x8xf32, #relax.dims<[3, "m", 8]>>, %k: tensor<3x?x8xf32, #relax.dims<[3, "n", 8]>>,
                    %v: tensor<3x?x8xf32, #relax.dims<[3, "n", 8]>>) -> tensor<3x?x8xf32, #relax.dims<[3, "m", 8]>> {
  %0 = "relax.permute_dims"(%k) {axes = array<i64: 0, 2, 1>} : (tensor<3x?x8xf32, #relax.dims<[3, "n", 8]>>) -> tensor<3x8x?xf32, #relax.dims<[3, 8, "n"]>>
  %1 = "relax.matmul"(%q, %0) : (tensor<3x?x8xf32, #relax.dims<[3, "m", 8]>>, tensor<3x8x?xf32, #relax.dims<[3, 8, "n"]>>) -> tensor<3x?x?xf32, #relax.dims<[3, "m", "n"]>>
  %2 = "relax.softmax"(%1) : (tensor<3x?x?xf32, #relax.dims<[3, "m", "n"]>>) -> tensor<3x?x?xf32, #relax.dims<[3, "m", "n"]>>
  %3 = "relax.matmul"(%2, %v) : (tensor<3x?x?xf32, #relax.dims<[3, "m", "n"]>>, tensor<3x?x8xf32, #relax.dims<[3, "n", 8]>>) -> tensor<3x?x8xf32, #relax.dims<[3, "m", 8]>>
  return %3 : tensor<3x?x8xf32, #relax.dims<[3, "m", 8]>>
}

// -----

// Scores that somebody else reads are a tensor, and the kernels stay several. So do those of a softmax over another axis.
// CHECK-LABEL: func.func @read_twice(
// CHECK: call @kernel_matmul
// CHECK: call @kernel_softmax
// CHECK: call @kernel_matmul
// CHECK: call @kernel_softmax
// CHECK: call @kernel_matmul
func.func @read_twice(%q: tensor<3x80x8xf32>, %k: tensor<3x8x80xf32>, %v: tensor<3x80x8xf32>) -> (tensor<3x80x80xf32>, tensor<3x80x8xf32>, tensor<3x80x8xf32>) {
  %0 = "relax.matmul"(%q, %k) : (tensor<3x80x8xf32>, tensor<3x8x80xf32>) -> tensor<3x80x80xf32>
  %1 = "relax.softmax"(%0) : (tensor<3x80x80xf32>) -> tensor<3x80x80xf32>
  %2 = "relax.matmul"(%1, %v) : (tensor<3x80x80xf32>, tensor<3x80x8xf32>) -> tensor<3x80x8xf32>
  %3 = "relax.softmax"(%0) {axis = 1 : i64} : (tensor<3x80x80xf32>) -> tensor<3x80x80xf32>
  %4 = "relax.matmul"(%3, %v) : (tensor<3x80x80xf32>, tensor<3x80x8xf32>) -> tensor<3x80x8xf32>
  return %1, %2, %4 : tensor<3x80x80xf32>, tensor<3x80x8xf32>, tensor<3x80x8xf32>
}

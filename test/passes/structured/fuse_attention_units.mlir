// RUN: legato-opt %s --relax-legalize=target=generic --canonicalize --cse --tir-fuse-attention='target=nvvm unit-axes=true' --symbol-dce --canonicalize --cse | filecheck %s

// One head of keys and values for all heads, in unknown numbers: the kernel reads its axis at 0, and keys before they are transposed and scaled.
// CHECK: #[[KEYS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, 0, d4, d3)>
// CHECK-LABEL: func.func @attention(
// CHECK: call @fused_attention(%{{.*}}) {relax.ops = ["relax.permute_dims", "relax.multiply", "relax.matmul", "relax.softmax"]}
// CHECK: func.func private @fused_attention(
// CHECK-NOT: tensor.collapse_shape
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[KEYS]], #{{.*}}]
// CHECK: math.exp
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[KEYS]], #{{.*}}]
func.func @attention(%q: tensor<?x6x?x16xf32, #relax.dims<["b", 6, "m", 16]>>, %k: tensor<?x1x?x16xf32, #relax.dims<["b", 1, "n", 16]>>,
                     %v: tensor<?x1x?x16xf32, #relax.dims<["b", 1, "n", 16]>>) -> tensor<?x6x?x16xf32, #relax.dims<["b", 6, "m", 16]>> {
  %scale = "relax.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.permute_dims"(%k) {axes = array<i64: 0, 1, 3, 2>} : (tensor<?x1x?x16xf32, #relax.dims<["b", 1, "n", 16]>>) -> tensor<?x1x16x?xf32, #relax.dims<["b", 1, 16, "n"]>>
  %1 = "relax.multiply"(%0, %scale) : (tensor<?x1x16x?xf32, #relax.dims<["b", 1, 16, "n"]>>, tensor<f32>) -> tensor<?x1x16x?xf32, #relax.dims<["b", 1, 16, "n"]>>
  %2 = "relax.matmul"(%q, %1) : (tensor<?x6x?x16xf32, #relax.dims<["b", 6, "m", 16]>>, tensor<?x1x16x?xf32, #relax.dims<["b", 1, 16, "n"]>>) -> tensor<?x6x?x?xf32, #relax.dims<["b", 6, "m", "n"]>>
  %3 = "relax.softmax"(%2) : (tensor<?x6x?x?xf32, #relax.dims<["b", 6, "m", "n"]>>) -> tensor<?x6x?x?xf32, #relax.dims<["b", 6, "m", "n"]>>
  %4 = "relax.matmul"(%3, %v) : (tensor<?x6x?x?xf32, #relax.dims<["b", 6, "m", "n"]>>, tensor<?x1x?x16xf32, #relax.dims<["b", 1, "n", 16]>>) -> tensor<?x6x?x16xf32, #relax.dims<["b", 6, "m", 16]>>
  return %4 : tensor<?x6x?x16xf32, #relax.dims<["b", 6, "m", 16]>>
}

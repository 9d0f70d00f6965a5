// relax-share-heads: heads that share keys and values are rows of one product.
// RUN: legato-opt %s --relax-share-heads | filecheck %s

// Keys are copied for two heads each, transposed and scaled; the mask is constant.
// CHECK-LABEL: func.func @grouped
// CHECK-NOT: broadcast_to
// CHECK-DAG: %[[K:.*]] = "relax.reshape"(%arg1) {shape = #relax.dims<[1, 2, 5, 8]>}
// CHECK-DAG: %[[T:.*]] = "relax.permute_dims"(%[[K]]) {axes = array<i64: 0, 1, 3, 2>}
// CHECK-DAG: %[[S:.*]] = "relax.multiply"(%[[T]]
// CHECK-DAG: %[[V:.*]] = "relax.permute_dims"({{.*}}) {axes = array<i64: 0, 2, 1, 3>} : (tensor<1x5x2x8xf32>) -> tensor<1x2x5x8xf32>
// CHECK-DAG: %[[M:.*]] = "relax.constant"() {{.*}} -> tensor<1x1x6x5xf32>
// CHECK-DAG: %[[Q:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<[1, 2, 6, 8]>}
// CHECK: %[[P:.*]] = "relax.matmul"(%[[Q]], %[[S]]) : (tensor<1x2x6x8xf32>, tensor<1x2x8x5xf32>) -> tensor<1x2x6x5xf32>
// CHECK: %[[A:.*]] = "relax.add"(%[[P]], %[[M]])
// CHECK: %[[W:.*]] = "relax.softmax"(%[[A]])
// CHECK: %[[O:.*]] = "relax.matmul"(%[[W]], %[[V]])
// CHECK: "relax.reshape"(%[[O]]) {shape = #relax.dims<[1, 4, 3, 8]>}
func.func @grouped(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x1x5x8xf32>, %v: tensor<1x5x2x1x8xf32>) -> tensor<1x4x3x8xf32> {
  %kb = "relax.broadcast_to"(%k) {shape = #relax.dims<[1, 2, 2, 5, 8]>} : (tensor<1x2x1x5x8xf32>) -> tensor<1x2x2x5x8xf32>
  %kr = "relax.reshape"(%kb) {shape = #relax.dims<[1, 4, 5, 8]>} : (tensor<1x2x2x5x8xf32>) -> tensor<1x4x5x8xf32>
  %kt = "relax.permute_dims"(%kr) {axes = array<i64: 0, 1, 3, 2>} : (tensor<1x4x5x8xf32>) -> tensor<1x4x8x5xf32>
  %c = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %ks = "relax.multiply"(%kt, %c) : (tensor<1x4x8x5xf32>, tensor<f32>) -> tensor<1x4x8x5xf32>
  %vt = "relax.permute_dims"(%v) {axes = array<i64: 0, 2, 3, 1, 4>} : (tensor<1x5x2x1x8xf32>) -> tensor<1x2x1x5x8xf32>
  %vb = "relax.broadcast_to"(%vt) {shape = #relax.dims<[1, 2, 2, 5, 8]>} : (tensor<1x2x1x5x8xf32>) -> tensor<1x2x2x5x8xf32>
  %vr = "relax.reshape"(%vb) {shape = #relax.dims<[1, 4, 5, 8]>} : (tensor<1x2x2x5x8xf32>) -> tensor<1x4x5x8xf32>
  %m = "relax.constant"() {value = dense<1.0> : tensor<1x1x3x5xf32>} : () -> tensor<1x1x3x5xf32>
  %s = "relax.matmul"(%q, %ks) : (tensor<1x4x3x8xf32>, tensor<1x4x8x5xf32>) -> tensor<1x4x3x5xf32>
  %a = "relax.add"(%s, %m) : (tensor<1x4x3x5xf32>, tensor<1x1x3x5xf32>) -> tensor<1x4x3x5xf32>
  %w = "relax.softmax"(%a) {axis = 3 : i64} : (tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32>
  %o = "relax.matmul"(%w, %vr) : (tensor<1x4x3x5xf32>, tensor<1x4x5x8xf32>) -> tensor<1x4x3x8xf32>
  return %o : tensor<1x4x3x8xf32>
}

// Products that broadcast the keys and values of the only group.
// CHECK-LABEL: func.func @one_group
// CHECK: %[[Q:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<[2, 1, 12, 8]>}
// CHECK: %[[P:.*]] = "relax.matmul"(%[[Q]], %arg1) : (tensor<2x1x12x8xf32>, tensor<2x1x8x5xf32>) -> tensor<2x1x12x5xf32>
// CHECK: %[[W:.*]] = "relax.softmax"(%[[P]])
// CHECK: %[[O:.*]] = "relax.matmul"(%[[W]], %arg2)
// CHECK: "relax.reshape"(%[[O]]) {shape = #relax.dims<[2, 4, 3, 8]>}
func.func @one_group(%q: tensor<2x4x3x8xf32>, %k: tensor<2x1x8x5xf32>, %v: tensor<2x1x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %s = "relax.matmul"(%q, %k) : (tensor<2x4x3x8xf32>, tensor<2x1x8x5xf32>) -> tensor<2x4x3x5xf32>
  %w = "relax.softmax"(%s) {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %o = "relax.matmul"(%w, %v) : (tensor<2x4x3x5xf32>, tensor<2x1x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %o : tensor<2x4x3x8xf32>
}

// Keys of each head, beside values of one group, and keys and values of one head.
// CHECK-LABEL: func.func @no_group
// CHECK-NOT: relax.reshape
// CHECK: return
func.func @no_group(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x8x5xf32>, %v: tensor<1x1x5x8xf32>, %x: tensor<1x1x3x8xf32>, %y: tensor<1x1x8x5xf32>)
    -> (tensor<1x4x3x8xf32>, tensor<1x1x3x8xf32>) {
  %s = "relax.matmul"(%q, %k) : (tensor<1x4x3x8xf32>, tensor<1x4x8x5xf32>) -> tensor<1x4x3x5xf32>
  %w = "relax.softmax"(%s) {axis = 3 : i64} : (tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32>
  %o = "relax.matmul"(%w, %v) : (tensor<1x4x3x5xf32>, tensor<1x1x5x8xf32>) -> tensor<1x4x3x8xf32>
  %t = "relax.matmul"(%x, %y) : (tensor<1x1x3x8xf32>, tensor<1x1x8x5xf32>) -> tensor<1x1x3x5xf32>
  %z = "relax.softmax"(%t) {axis = 3 : i64} : (tensor<1x1x3x5xf32>) -> tensor<1x1x3x5xf32>
  %p = "relax.matmul"(%z, %v) : (tensor<1x1x3x5xf32>, tensor<1x1x5x8xf32>) -> tensor<1x1x3x8xf32>
  return %o, %p : tensor<1x4x3x8xf32>, tensor<1x1x3x8xf32>
}

// Weights that something else reads, and keys that are not shared.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: broadcast_to
func.func @others(%q: tensor<1x4x3x8xf32>, %k: tensor<1x4x8x5xf32>, %h: tensor<1x2x1x8x5xf32>, %v: tensor<1x2x1x5x8xf32>)
    -> (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x5xf32>) {
  %vb = "relax.broadcast_to"(%v) {shape = #relax.dims<[1, 2, 2, 5, 8]>} : (tensor<1x2x1x5x8xf32>) -> tensor<1x2x2x5x8xf32>
  %vr = "relax.reshape"(%vb) {shape = #relax.dims<[1, 4, 5, 8]>} : (tensor<1x2x2x5x8xf32>) -> tensor<1x4x5x8xf32>
  %hb = "relax.broadcast_to"(%h) {shape = #relax.dims<[1, 2, 2, 8, 5]>} : (tensor<1x2x1x8x5xf32>) -> tensor<1x2x2x8x5xf32>
  %hr = "relax.reshape"(%hb) {shape = #relax.dims<[1, 4, 8, 5]>} : (tensor<1x2x2x8x5xf32>) -> tensor<1x4x8x5xf32>
  %s = "relax.matmul"(%q, %k) : (tensor<1x4x3x8xf32>, tensor<1x4x8x5xf32>) -> tensor<1x4x3x5xf32>
  %w = "relax.softmax"(%s) {axis = 3 : i64} : (tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32>
  %o = "relax.matmul"(%w, %vr) : (tensor<1x4x3x5xf32>, tensor<1x4x5x8xf32>) -> tensor<1x4x3x8xf32>
  %t = "relax.matmul"(%q, %hr) : (tensor<1x4x3x8xf32>, tensor<1x4x8x5xf32>) -> tensor<1x4x3x5xf32>
  %x = "relax.softmax"(%t) {axis = 3 : i64} : (tensor<1x4x3x5xf32>) -> tensor<1x4x3x5xf32>
  %p = "relax.matmul"(%x, %vr) : (tensor<1x4x3x5xf32>, tensor<1x4x5x8xf32>) -> tensor<1x4x3x8xf32>
  return %o, %p, %x : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x5xf32>
}

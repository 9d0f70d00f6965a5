// RUN: legato-opt %s --relax-canonicalize | filecheck %s
// One pattern of each family; test_canonicalize_values.py has them all, and runs what they make.

// CHECK-LABEL: func.func @batch_norm_into_convolution
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{.*}}2.000000e+00{{.*}}6.000000e+00{{.*}}> : tensor<2x1x1x1xf32>}
// CHECK: %[[Y:.*]] = "relax.conv2d"(%arg0, %[[W]])
// CHECK: %[[B:.*]] = "relax.constant"() {value = dense<{{.*}}-1.000000e+00{{.*}}-2.000000e+00{{.*}}> : tensor<1x2x1x1xf32>}
// CHECK: %[[Z:.*]] = "relax.add"(%[[Y]], %[[B]])
// CHECK: return %[[Z]]
func.func @batch_norm_into_convolution(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = "relax.constant"() {value = dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>} : () -> tensor<2x1x1x1xf32>
  %gamma = "relax.constant"() {value = dense<4.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %beta = "relax.constant"() {value = dense<[1.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %mean = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %var = "relax.constant"() {value = dense<4.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = "relax.batch_norm"(%0, %gamma, %beta, %mean, %var) {epsilon = 0.0 : f64}
      : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @algebra
// CHECK-NEXT: %[[C:.*]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[Y:.*]] = "relax.multiply"(%arg0, %[[C]])
// CHECK-NEXT: return %[[Y]]
func.func @algebra(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "relax.constant"() {value = dense<0.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.add"(%zero, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.divide"(%0, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// 61 * (1 / 61) is less than 1: what is rounded is divided.
// CHECK-LABEL: func.func @division
// CHECK: "relax.divide"
// CHECK-NEXT: "relax.floor"
// CHECK: "relax.multiply"
// CHECK-NEXT: "relax.exp"
func.func @division(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = "relax.constant"() {value = dense<61.0> : tensor<f32>} : () -> tensor<f32>
  %d = "relax.constant"() {value = dense<47.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.divide"(%x, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "relax.floor"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.divide"(%x, %d) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "relax.exp"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @shapes
// CHECK-NEXT: %[[Y:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<["n", 4]>}
// CHECK-NEXT: return %[[Y]]
func.func @shapes(%x: tensor<?x1x4xf32, #relax.dims<["n", 1, 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #relax.dims<["n", 1, 4]>>) -> tensor<1x?x4xf32, #relax.dims<[1, "n", 4]>>
  %1 = "relax.squeeze"(%0) {axis = array<i64: 0>} : (tensor<1x?x4xf32, #relax.dims<[1, "n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @gelu
// CHECK-NEXT: %[[Y:.*]] = "relax.gelu"(%arg0)
// CHECK-NEXT: return %[[Y]]
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = "relax.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "relax.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.divide"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "relax.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "relax.multiply"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.multiply"(%3, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// What the result's type does not say is still not said to the caller.
// CHECK-LABEL: func.func @types
// CHECK-NEXT: %[[X:.*]] = tensor.cast %arg0 : tensor<?xf32, #relax.dims<["n"]>> to tensor<?xf32>
// CHECK-NEXT: return %[[X]]
func.func @types(%x: tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32> {
  %zero = "relax.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.add"(%x, %zero) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<f32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Pure packed functions are called once for equal arguments, and not at all for nobody; others stay, and so does what gives a size.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @pure(%arg0)
// CHECK-NOT: call @pure(
// CHECK: call @gives(%arg0)
// CHECK-NEXT: call @effects(%arg0)
// CHECK-NEXT: call @effects(%arg0)
// CHECK-NEXT: return
func.func private @pure(tensor<4xf32>) -> tensor<4xf32> attributes {relax.packed = "pure", relax.returns, relax.pure}
func.func private @gives(tensor<4xf32>) -> tensor<?xf32, #relax.dims<["m"]>> attributes {relax.packed = "gives", relax.returns, relax.pure}
func.func private @effects(tensor<4xf32>) -> tensor<4xf32> attributes {relax.packed = "effects", relax.returns}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = call @pure(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @pure(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = call @pure(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %m = call @gives(%x) : (tensor<4xf32>) -> tensor<?xf32, #relax.dims<["m"]>>
  %d = call @effects(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %e = call @effects(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// A reduction of bytes is padded to groups of four, with zeros in the weight.
// CHECK-LABEL: func.func @bytes(
// CHECK-DAG: %[[X:.*]] = "relax.pad"(%arg0) {pads = array<i64: 0, 0, 0, 1>} : (tensor<2x3xui8>) -> tensor<2x4xui8>
// CHECK-DAG: %[[W:.*]] = "relax.constant"() {value = dense<{{\[}}[1, -2], [3, 4], [5, 6], [0, 0]]> : tensor<4x2xi8>}
// CHECK: "relax.matmul_integer"(%[[X]], %[[W]])
func.func @bytes(%x: tensor<2x3xui8>) -> tensor<2x2xi32> {
  %w = "relax.constant"() {value = dense<[[1, -2], [3, 4], [5, 6]]> : tensor<3x2xi8>} : () -> tensor<3x2xi8>
  %0 = "relax.matmul_integer"(%x, %w) : (tensor<2x3xui8>, tensor<3x2xi8>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// A convolution of bytes of few positions with a stride is a product of its windows; with stride 1 and whole groups of channels it stays.
// CHECK-LABEL: func.func @windows_of_bytes(
// CHECK-COUNT-2: "relax.strided_slice"
// CHECK: tensor.concat dim(3)
// CHECK: "relax.matmul_integer"(%{{.*}}, %{{.*}}) : (tensor<32x16xui8>, tensor<16x4xi8>) -> tensor<32x4xi32>
// CHECK: "relax.conv2d_integer"
func.func @windows_of_bytes(%x: tensor<1x8x9x8xui8>) -> (tensor<1x8x4x4xi32>, tensor<1x8x8x4xi32>) {
  %w = "relax.constant"() {value = dense<1> : tensor<1x2x8x4xi8>} : () -> tensor<1x2x8x4xi8>
  %0 = "relax.conv2d_integer"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 1, 2>} : (tensor<1x8x9x8xui8>, tensor<1x2x8x4xi8>) -> tensor<1x8x4x4xi32>
  %1 = "relax.conv2d_integer"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x9x8xui8>, tensor<1x2x8x4xi8>) -> tensor<1x8x8x4xi32>
  return %0, %1 : tensor<1x8x4x4xi32>, tensor<1x8x8x4xi32>
}

// Otherwise kernels compute it, with strides, of any channels; zeros around images are left out there, other numbers are not.
// CHECK-LABEL: func.func @direct_convolutions_of_bytes(
// CHECK: "relax.conv2d_integer"(%arg0, %{{.*}}) {{.*}}padding = array<i64: 1, 2, 0, 1>, strides = array<i64: 2, 2>} : (tensor<?x16x16x8xui8
// CHECK: "relax.pad"(%arg0)
// CHECK: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<?x18x18x8xui8
// CHECK: "relax.conv2d_integer"(%arg1, %{{.*}}) {{.*}}strides = array<i64: 2, 2>} : (tensor<1x18x18x3xui8>
func.func @direct_convolutions_of_bytes(%x: tensor<?x16x16x8xui8, #relax.dims<["n", 16, 16, 8]>>, %y: tensor<1x18x18x3xui8>)
    -> (tensor<?x8x9x16xi32, #relax.dims<["n", 8, 9, 16]>>, tensor<?x16x16x16xi32, #relax.dims<["n", 16, 16, 16]>>, tensor<1x8x8x16xi32>) {
  %w = "relax.constant"() {value = dense<1> : tensor<3x3x8x16xi8>} : () -> tensor<3x3x8x16xi8>
  %v = "relax.constant"() {value = dense<1> : tensor<3x3x3x16xi8>} : () -> tensor<3x3x3x16xi8>
  %0 = "relax.pad"(%x) {pads = array<i64: 0, 1, 2, 0, 0, 0, 1, 0>} : (tensor<?x16x16x8xui8, #relax.dims<["n", 16, 16, 8]>>) -> tensor<?x17x19x8xui8, #relax.dims<["n", 17, 19, 8]>>
  %1 = "relax.conv2d_integer"(%0, %w) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>} : (tensor<?x17x19x8xui8, #relax.dims<["n", 17, 19, 8]>>, tensor<3x3x8x16xi8>) -> tensor<?x8x9x16xi32, #relax.dims<["n", 8, 9, 16]>>
  %2 = "relax.pad"(%x) {pads = array<i64: 0, 1, 1, 0, 0, 1, 1, 0>, value = 7.0 : f64} : (tensor<?x16x16x8xui8, #relax.dims<["n", 16, 16, 8]>>) -> tensor<?x18x18x8xui8, #relax.dims<["n", 18, 18, 8]>>
  %3 = "relax.conv2d_integer"(%2, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<?x18x18x8xui8, #relax.dims<["n", 18, 18, 8]>>, tensor<3x3x8x16xi8>) -> tensor<?x16x16x16xi32, #relax.dims<["n", 16, 16, 16]>>
  %4 = "relax.conv2d_integer"(%y, %v) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>} : (tensor<1x18x18x3xui8>, tensor<3x3x3x16xi8>) -> tensor<1x8x8x16xi32>
  return %1, %3, %4 : tensor<?x8x9x16xi32, #relax.dims<["n", 8, 9, 16]>>, tensor<?x16x16x16xi32, #relax.dims<["n", 16, 16, 16]>>, tensor<1x8x8x16xi32>
}

// So are those in groups, of any channels.
// CHECK-LABEL: func.func @groups_of_bytes(
// CHECK: "relax.conv2d_integer"(%arg0, %{{.*}}) {{.*}}groups = 2 : i64, kernel_layout = "HWIO", padding = array<i64: 1, 1, 0, 0>} : (tensor<1x8x8x10xui8>
func.func @groups_of_bytes(%x: tensor<1x8x8x10xui8>) -> tensor<1x7x7x16xi32> {
  %w = "relax.constant"() {value = dense<1> : tensor<3x3x5x16xi8>} : () -> tensor<3x3x5x16xi8>
  %0 = "relax.pad"(%x) {pads = array<i64: 0, 1, 1, 0, 0, 0, 0, 0>} : (tensor<1x8x8x10xui8>) -> tensor<1x9x9x10xui8>
  %1 = "relax.conv2d_integer"(%0, %w) {data_layout = "NHWC", groups = 2 : i64, kernel_layout = "HWIO"} : (tensor<1x9x9x10xui8>, tensor<3x3x5x16xi8>) -> tensor<1x7x7x16xi32>
  return %1 : tensor<1x7x7x16xi32>
}

// The greatest of dequantized bytes is that of the bytes.
// CHECK-LABEL: func.func @pool_of_bytes(
// CHECK: %[[POOL:.*]] = "relax.max_pool2d"(%arg0)
// CHECK: %[[WIDE:.*]] = "relax.astype"(%[[POOL]])
// CHECK: "relax.multiply"(%[[WIDE]]
func.func @pool_of_bytes(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xf32> {
  %scale = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32>
  %1 = "relax.multiply"(%0, %scale) : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %2 = "relax.max_pool2d"(%1) {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  return %2 : tensor<1x2x2x2xf32>
}

// Rows of shares that are set to 0, as ONNX's Attention does where all keys are masked: the product is set to 0.
// CHECK-LABEL: func.func @guarded_attention(
// CHECK: %[[SHARES:.*]] = "relax.softmax"(%arg0)
// CHECK: %[[Y:.*]] = "relax.matmul"(%[[SHARES]], %arg2)
// CHECK: "relax.where"(%arg1, %{{.*}}, %[[Y]])
// CHECK: "relax.matmul"(%{{.*}}, %arg2)
// CHECK-NEXT: return
func.func @guarded_attention(%x: tensor<2x3x4xf32>, %rows: tensor<3x1xi1>, %v: tensor<2x4x5xf32>, %keys: tensor<3x4xi1>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %zero = "relax.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.softmax"(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = "relax.where"(%rows, %zero, %0) : (tensor<3x1xi1>, tensor<f32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %2 = "relax.matmul"(%1, %v) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %3 = "relax.where"(%keys, %zero, %0) : (tensor<3x4xi1>, tensor<f32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %4 = "relax.matmul"(%3, %v) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %2, %4 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}

// In branches and loops, too; but what is computed once in front of a loop is not computed again in each step.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: %[[TWICE:.*]] = "relax.multiply"(%arg0
// CHECK: scf.for
// CHECK-NEXT: %[[FOUR:.*]] = "relax.constant"() {value = dense<4.000000e+00>
// CHECK-NEXT: %[[A:.*]] = "relax.multiply"(%[[TWICE]], %[[FOUR]])
// CHECK-NEXT: "relax.add"(%{{.*}}, %[[A]])
// CHECK-NEXT: scf.yield
func.func @in_a_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<4xf32>) {
    %1 = "relax.multiply"(%0, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = "relax.multiply"(%1, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = "relax.add"(%s, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// The keys of an attention, as exporters transpose them: reshapes that add or remove dimensions of size 1 go in front, and one permute_dims
// is left.
// CHECK-LABEL: func.func @keys(
// CHECK-NOT: relax.reshape
// CHECK: %[[K:.*]] = "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x?x12x64xf32, #relax.dims<[1, "n", 12, 64]>>)
// CHECK-NEXT: return %[[K]]
func.func @keys(%x: tensor<1x?x12x64xf32, #relax.dims<[1, "n", 12, 64]>>) -> tensor<1x12x64x?xf32, #relax.dims<[1, 12, 64, "n"]>> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1, 3>} : (tensor<1x?x12x64xf32, #relax.dims<[1, "n", 12, 64]>>) -> tensor<1x12x?x64xf32, #relax.dims<[1, 12, "n", 64]>>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[12, "n", 64]>} : (tensor<1x12x?x64xf32, #relax.dims<[1, 12, "n", 64]>>) -> tensor<12x?x64xf32, #relax.dims<[12, "n", 64]>>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 2, 1>} : (tensor<12x?x64xf32, #relax.dims<[12, "n", 64]>>) -> tensor<12x64x?xf32, #relax.dims<[12, 64, "n"]>>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<[1, 12, 64, "n"]>} : (tensor<12x64x?xf32, #relax.dims<[12, 64, "n"]>>) -> tensor<1x12x64x?xf32, #relax.dims<[1, 12, 64, "n"]>>
  return %3 : tensor<1x12x64x?xf32, #relax.dims<[1, 12, 64, "n"]>>
}

// With a batch of unknown size, which the reshapes multiply by the heads.
// CHECK-LABEL: func.func @keys_of_a_batch(
// CHECK-NEXT: %[[K:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT: return %[[K]]
func.func @keys_of_a_batch(%x: tensor<?x?x12x64xf32, #relax.dims<["b", "n", 12, 64]>>) -> tensor<?x12x64x?xf32, #relax.dims<["b", 12, 64, "n"]>> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1, 3>} : (tensor<?x?x12x64xf32, #relax.dims<["b", "n", 12, 64]>>) -> tensor<?x12x?x64xf32, #relax.dims<["b", 12, "n", 64]>>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<["b * 12", "n", 64]>} : (tensor<?x12x?x64xf32, #relax.dims<["b", 12, "n", 64]>>) -> tensor<?x?x64xf32, #relax.dims<["b * 12", "n", 64]>>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 2, 1>} : (tensor<?x?x64xf32, #relax.dims<["b * 12", "n", 64]>>) -> tensor<?x64x?xf32, #relax.dims<["b * 12", 64, "n"]>>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<["b", 12, 64, "n"]>} : (tensor<?x64x?xf32, #relax.dims<["b * 12", 64, "n"]>>) -> tensor<?x12x64x?xf32, #relax.dims<["b", 12, 64, "n"]>>
  return %3 : tensor<?x12x64x?xf32, #relax.dims<["b", 12, 64, "n"]>>
}

// Heads of a slice are slices of the heads of all; where heads would lie across its ends, and with steps, they are not.
// CHECK-LABEL: func.func @heads_of_slices(
// CHECK: %[[H:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<["n", 6, 4]>}
// CHECK: %[[K:.*]] = "relax.strided_slice"(%[[H]]) {axes = array<i64: 1>, {{.*}}} : {{.*}} -> tensor<?x2x4xf32
// CHECK: %[[A:.*]] = "relax.strided_slice"(%arg0)
// CHECK: %[[X:.*]] = "relax.reshape"(%[[A]])
// CHECK: %[[B:.*]] = "relax.strided_slice"(%arg0)
// CHECK: %[[Y:.*]] = "relax.reshape"(%[[B]])
// CHECK: return %[[K]], %[[X]], %[[Y]]
func.func @heads_of_slices(%x: tensor<?x24xf32, #relax.dims<["n", 24]>>)
    -> (tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[8]>, end = #relax.dims<[16]>, strides = array<i64: 1>, axes = array<i64: 1>} : (tensor<?x24xf32, #relax.dims<["n", 24]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<["n", 2, 4]>} : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>
  %2 = "relax.strided_slice"(%x) {begin = #relax.dims<[6]>, end = #relax.dims<[14]>, strides = array<i64: 1>, axes = array<i64: 1>} : (tensor<?x24xf32, #relax.dims<["n", 24]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<["n", 2, 4]>} : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>
  %4 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[16]>, strides = array<i64: 2>, axes = array<i64: 1>} : (tensor<?x24xf32, #relax.dims<["n", 24]>>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  %5 = "relax.reshape"(%4) {shape = #relax.dims<["n", 2, 4]>} : (tensor<?x8xf32, #relax.dims<["n", 8]>>) -> tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>
  return %1, %3, %5 : tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>, tensor<?x2x4xf32, #relax.dims<["n", 2, 4]>>
}

// Of queries, keys and values that are permuted to be taken apart, each is a slice of what lies there.
// CHECK-LABEL: func.func @taken_apart(
// CHECK: %[[R:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<[7, 24]>}
// CHECK: %[[Q:.*]] = "relax.strided_slice"(%[[R]]) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[8]>, strides = array<i64: 1>}
// CHECK: %[[V:.*]] = "relax.strided_slice"(%{{.*}}) {axes = array<i64: 1>, begin = #relax.dims<[16]>, end = #relax.dims<[24]>, strides = array<i64: 1>}
// CHECK-NEXT: %[[T:.*]] = "relax.permute_dims"(%[[V]]) {axes = array<i64: 1, 0>}
// CHECK-NEXT: return %[[Q]], %[[T]]
func.func @taken_apart(%x: tensor<7x3x8xf32>) -> (tensor<7x8xf32>, tensor<8x7xf32>) {
  %zero = "relax.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %two = "relax.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 1, 0, 2>} : (tensor<7x3x8xf32>) -> tensor<3x7x8xf32>
  %q = "relax.take"(%0, %zero) : (tensor<3x7x8xf32>, tensor<i64>) -> tensor<7x8xf32>
  %1 = "relax.permute_dims"(%x) {axes = array<i64: 2, 1, 0>} : (tensor<7x3x8xf32>) -> tensor<8x3x7xf32>
  %v = "relax.take"(%1, %two) {axis = -2 : i64} : (tensor<8x3x7xf32>, tensor<i64>) -> tensor<8x7xf32>
  return %q, %v : tensor<7x8xf32>, tensor<8x7xf32>
}

// Sizes of 1 make no difference.
// CHECK-LABEL: func.func @heads_of_parts(
// CHECK-NEXT: %[[H:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<[1, 7, 12, 2]>}
// CHECK-NEXT: %[[K:.*]] = "relax.strided_slice"(%[[H]]) {axes = array<i64: 2>, begin = #relax.dims<[4]>, end = #relax.dims<[8]>, strides = array<i64: 1>}
// CHECK-NEXT: return %[[K]]
func.func @heads_of_parts(%x: tensor<7x1x3x8xf32>) -> tensor<1x7x4x2xf32> {
  %one = "relax.constant"() {value = dense<-2> : tensor<i64>} : () -> tensor<i64>
  %0 = "relax.take"(%x, %one) {axis = 2 : i64} : (tensor<7x1x3x8xf32>, tensor<i64>) -> tensor<7x1x8xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[1, 7, 4, 2]>} : (tensor<7x1x8xf32>) -> tensor<1x7x4x2xf32>
  return %1 : tensor<1x7x4x2xf32>
}

// Two permutations around a reshape that splits what the first one moved: one, or none.
// CHECK-LABEL: func.func @images_of_tokens
// CHECK-NEXT: %[[X:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<[2, 4, 5, 8]>}
// CHECK-NEXT: return %[[X]]
func.func @images_of_tokens(%x: tensor<2x20x8xf32>) -> tensor<2x4x5x8xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1>} : (tensor<2x20x8xf32>) -> tensor<2x8x20xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[2, 8, 4, 5]>} : (tensor<2x8x20xf32>) -> tensor<2x8x4x5xf32>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 2, 3, 1>} : (tensor<2x8x4x5xf32>) -> tensor<2x4x5x8xf32>
  return %2 : tensor<2x4x5x8xf32>
}

// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[X:.*]] = "relax.reshape"(%arg0) {shape = #relax.dims<[2, 20, 4, 2]>}
// CHECK-NEXT: %[[Y:.*]] = "relax.permute_dims"(%[[X]]) {axes = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: return %[[Y]]
func.func @heads(%x: tensor<2x20x8xf32>) -> tensor<2x4x20x2xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1>} : (tensor<2x20x8xf32>) -> tensor<2x8x20xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[2, 4, 2, 20]>} : (tensor<2x8x20xf32>) -> tensor<2x4x2x20xf32>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 1, 3, 2>} : (tensor<2x4x2x20xf32>) -> tensor<2x4x20x2xf32>
  return %2 : tensor<2x4x20x2xf32>
}

// What the first one brought together, and a reshape merges, is permuted once, in front of it: a transposed convolution's phases.
// CHECK-LABEL: func.func @phases
// CHECK-NEXT: %[[X:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 0, 5, 1, 3, 2, 4>}
// CHECK-NEXT: %[[Y:.*]] = "relax.reshape"(%[[X]]) {shape = #relax.dims<[2, 8, 12, 10]>}
// CHECK-NEXT: return %[[Y]]
func.func @phases(%x: tensor<2x4x5x3x2x8xf32>) -> tensor<2x8x12x10xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<2x4x5x3x2x8xf32>) -> tensor<2x4x3x5x2x8xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[2, 12, 10, 8]>} : (tensor<2x4x3x5x2x8xf32>) -> tensor<2x12x10x8xf32>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x12x10x8xf32>) -> tensor<2x8x12x10xf32>
  return %2 : tensor<2x8x12x10xf32>
}

// A reshape that merges and splits stays between them.
// CHECK-LABEL: func.func @mixed
// CHECK: "relax.permute_dims"
// CHECK: "relax.reshape"
// CHECK: "relax.permute_dims"
func.func @mixed(%x: tensor<2x20x8xf32>) -> tensor<5x4x16xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 2, 0, 1>} : (tensor<2x20x8xf32>) -> tensor<8x2x20xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[16, 4, 5]>} : (tensor<8x2x20xf32>) -> tensor<16x4x5xf32>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 2, 1, 0>} : (tensor<16x4x5xf32>) -> tensor<5x4x16xf32>
  return %2 : tensor<5x4x16xf32>
}

// Taps 36 apart reach beyond an image of 16 rows: only the one in the middle reads it. In 12 columns, the last one of those 6 apart reads
// nothing but padding. Padding before the first useful tap can't be less than nothing, and infinities times zero are no numbers.
// CHECK-LABEL: func.func @taps_in_padding(
// CHECK-DAG: %[[MIDDLE:.*]] = "relax.constant"() {value = dense<{{\[\[\[\[}}2.000000e+00, 3.000000e+00]]]]> : tensor<1x1x1x2xf32>}
// CHECK: "relax.conv2d"(%arg0, %[[MIDDLE]]) {dilations = array<i64: 36, 6>, padding = array<i64: 0, 0, 0, 6>}
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) {{.*}}padding = array<i64: 30, 0, 30, 0>} : {{.*}}tensor<1x1x3x1xf32>
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) {{.*}}padding = array<i64: 36, 0, 36, 0>} : {{.*}}tensor<1x1x3x1xf32>
func.func @taps_in_padding(%x: tensor<1x1x16x12xf32>) -> (tensor<1x1x16x12xf32>, tensor<1x1x4x12xf32>, tensor<1x1x16x12xf32>) {
  %w = "relax.constant"() {value = dense<[[[[0.0, 1.0, 9.0], [2.0, 3.0, 9.0], [4.0, 5.0, 9.0]]]]> : tensor<1x1x3x3xf32>} : () -> tensor<1x1x3x3xf32>
  %v = "relax.constant"() {value = dense<[[[[0.0], [1.0], [2.0]]]]> : tensor<1x1x3x1xf32>} : () -> tensor<1x1x3x1xf32>
  %i = "relax.constant"() {value = dense<[[[[0x7F800000], [1.0], [2.0]]]]> : tensor<1x1x3x1xf32>} : () -> tensor<1x1x3x1xf32>
  %0 = "relax.conv2d"(%x, %w) {padding = array<i64: 36, 0, 36, 12>, dilations = array<i64: 36, 6>} : (tensor<1x1x16x12xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x16x12xf32>
  %1 = "relax.conv2d"(%x, %v) {padding = array<i64: 30, 0, 30, 0>, dilations = array<i64: 36, 1>} : (tensor<1x1x16x12xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x4x12xf32>
  %2 = "relax.conv2d"(%x, %i) {padding = array<i64: 36, 0, 36, 0>, dilations = array<i64: 36, 1>} : (tensor<1x1x16x12xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x16x12xf32>
  return %0, %1, %2 : tensor<1x1x16x12xf32>, tensor<1x1x4x12xf32>, tensor<1x1x16x12xf32>
}

// Indices that graph networks repeat for each feature are those of slices; others, and of fewer features than there are, stay.
// CHECK-LABEL: func.func @edges(
// CHECK: "relax.take"(%arg0, %{{.*}}) : (tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?xi64, #relax.dims<["e"]>>)
// CHECK: "relax.scatter_nd"(%arg0, %{{.*}}, %{{.*}}) {reduction = "add"}
// CHECK: "relax.scatter_elements"
// CHECK: "relax.gather_elements"
func.func @edges(%x: tensor<?x8xf32, #relax.dims<["v", 8]>>, %from: tensor<?x1xi64, #relax.dims<["e", 1]>>, %to: tensor<?x1xi64, #relax.dims<["e", 1]>>)
    -> (tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x5xf32, #relax.dims<["e", 5]>>) {
  %0 = "relax.broadcast_to"(%from) {shape = #relax.dims<["e", 8]>} : (tensor<?x1xi64, #relax.dims<["e", 1]>>) -> tensor<?x8xi64, #relax.dims<["e", 8]>>
  %1 = "relax.broadcast_to"(%to) {shape = #relax.dims<["e", 8]>} : (tensor<?x1xi64, #relax.dims<["e", 1]>>) -> tensor<?x8xi64, #relax.dims<["e", 8]>>
  %2 = "relax.gather_elements"(%x, %0) {axis = 0 : i64} : (tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x8xi64, #relax.dims<["e", 8]>>) -> tensor<?x8xf32, #relax.dims<["e", 8]>>
  %3 = "relax.scatter_elements"(%x, %1, %2) {axis = 0 : i64, reduction = "add"} : (tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x8xi64, #relax.dims<["e", 8]>>, tensor<?x8xf32, #relax.dims<["e", 8]>>) -> tensor<?x8xf32, #relax.dims<["v", 8]>>
  %4 = "relax.scatter_elements"(%x, %1, %2) {axis = 1 : i64, reduction = "add"} : (tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x8xi64, #relax.dims<["e", 8]>>, tensor<?x8xf32, #relax.dims<["e", 8]>>) -> tensor<?x8xf32, #relax.dims<["v", 8]>>
  %5 = "relax.broadcast_to"(%from) {shape = #relax.dims<["e", 5]>} : (tensor<?x1xi64, #relax.dims<["e", 1]>>) -> tensor<?x5xi64, #relax.dims<["e", 5]>>
  %6 = "relax.gather_elements"(%x, %5) {axis = 0 : i64} : (tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x5xi64, #relax.dims<["e", 5]>>) -> tensor<?x5xf32, #relax.dims<["e", 5]>>
  return %3, %4, %6 : tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x8xf32, #relax.dims<["v", 8]>>, tensor<?x5xf32, #relax.dims<["e", 5]>>
}

// Indices that are repeated along the last axes alone are those of rows: of a batch, or of pairs of the index and the place.
// CHECK-LABEL: func.func @rows(
// CHECK: "relax.gather_nd"(%arg0, %arg1) {batch_dims = 1 : i64} : (tensor<?x9x8xf32, #relax.dims<["b", 9, 8]>>, tensor<?x4x1xi64, #relax.dims<["b", 4, 1]>>)
// CHECK: tensor.concat dim(2) {{.*}} -> tensor<4x3x2xi64>
// CHECK: "relax.gather_nd"(%arg2, %{{.*}}) : (tensor<9x3x8xf32>, tensor<4x3x2xi64>)
// CHECK: "relax.scatter_nd"(%arg2, %{{.*}}, %{{.*}}) {reduction = "add"} : (tensor<9x3x8xf32>, tensor<4x3x2xi64>, tensor<4x3x8xf32>)
// CHECK-NOT: elements
// CHECK: return
func.func @rows(%x: tensor<?x9x8xf32, #relax.dims<["b", 9, 8]>>, %i: tensor<?x4x1xi64, #relax.dims<["b", 4, 1]>>, %y: tensor<9x3x8xf32>, %j: tensor<4x3x1xi64>)
    -> (tensor<?x4x8xf32, #relax.dims<["b", 4, 8]>>, tensor<9x3x8xf32>) {
  %0 = "relax.broadcast_to"(%i) {shape = #relax.dims<["b", 4, 8]>} : (tensor<?x4x1xi64, #relax.dims<["b", 4, 1]>>) -> tensor<?x4x8xi64, #relax.dims<["b", 4, 8]>>
  %1 = "relax.gather_elements"(%x, %0) {axis = 1 : i64} : (tensor<?x9x8xf32, #relax.dims<["b", 9, 8]>>, tensor<?x4x8xi64, #relax.dims<["b", 4, 8]>>) -> tensor<?x4x8xf32, #relax.dims<["b", 4, 8]>>
  %2 = "relax.broadcast_to"(%j) {shape = #relax.dims<[4, 3, 8]>} : (tensor<4x3x1xi64>) -> tensor<4x3x8xi64>
  %3 = "relax.gather_elements"(%y, %2) {axis = 0 : i64} : (tensor<9x3x8xf32>, tensor<4x3x8xi64>) -> tensor<4x3x8xf32>
  %4 = "relax.scatter_elements"(%y, %2, %3) {axis = 0 : i64, reduction = "add"} : (tensor<9x3x8xf32>, tensor<4x3x8xi64>, tensor<4x3x8xf32>) -> tensor<9x3x8xf32>
  return %1, %4 : tensor<?x4x8xf32, #relax.dims<["b", 4, 8]>>, tensor<9x3x8xf32>
}

// Places along an axis of unknown size are counted.
// CHECK-LABEL: func.func @unknown_rows(
// CHECK: %[[INDEX:.*]] = "relax.astype"({{.*}}-> tensor<4x?x1xi64, #relax.dims<[4, "b", 1]>>
// CHECK: "relax.arange"({{.*}}shape = #relax.dims<["b"]>
// CHECK: %[[PAIRS:.*]] = tensor.concat dim(2) %[[INDEX]], {{.*}} -> tensor<4x?x2xi64, #relax.dims<[4, "b", 2]>>
// CHECK: "relax.gather_nd"(%arg0, %[[PAIRS]]) : (tensor<9x?x8xf32, #relax.dims<[9, "b", 8]>>
// CHECK-NOT: elements
// CHECK: return
func.func @unknown_rows(%x: tensor<9x?x8xf32, #relax.dims<[9, "b", 8]>>, %i: tensor<4x?x1xi32, #relax.dims<[4, "b", 1]>>)
    -> tensor<4x?x8xf32, #relax.dims<[4, "b", 8]>> {
  %0 = "relax.broadcast_to"(%i) {shape = #relax.dims<[4, "b", 8]>} : (tensor<4x?x1xi32, #relax.dims<[4, "b", 1]>>) -> tensor<4x?x8xi32, #relax.dims<[4, "b", 8]>>
  %1 = "relax.gather_elements"(%x, %0) {axis = 0 : i64} : (tensor<9x?x8xf32, #relax.dims<[9, "b", 8]>>, tensor<4x?x8xi32, #relax.dims<[4, "b", 8]>>) -> tensor<4x?x8xf32, #relax.dims<[4, "b", 8]>>
  return %1 : tensor<4x?x8xf32, #relax.dims<[4, "b", 8]>>
}

// The best of a row is the greatest element, or the least. The least of floats stays: NaN is the greatest for topk, and what argmin finds first.
// CHECK-LABEL: @best
// CHECK: "relax.argmax"(%arg0) {axis = 1 : i64, keepdims = true} : (tensor<5x7xf32>) -> tensor<5x1xi64>
// CHECK: "relax.topk"(%arg0) {axis = 1 : i64, k = 1 : i64, largest = false}
// CHECK: "relax.argmin"(%arg1) {axis = 0 : i64, keepdims = true} : (tensor<5x7xi32>) -> tensor<1x7xi64>
// CHECK: "relax.topk"(%arg0) {axis = 1 : i64, k = 2 : i64}
func.func @best(%x: tensor<5x7xf32>, %i: tensor<5x7xi32>) -> (tensor<5x1xi64>, tensor<5x1xi64>, tensor<1x7xi64>, tensor<5x2xi64>) {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 1 : i64} : (tensor<5x7xf32>) -> tensor<5x1xi64>
  %1 = "relax.topk"(%x) {axis = 1 : i64, k = 1 : i64, largest = false} : (tensor<5x7xf32>) -> tensor<5x1xi64>
  %2 = "relax.topk"(%i) {axis = 0 : i64, k = 1 : i64, largest = false} : (tensor<5x7xi32>) -> tensor<1x7xi64>
  %3 = "relax.topk"(%x) {axis = 1 : i64, k = 2 : i64} : (tensor<5x7xf32>) -> tensor<5x2xi64>
  return %0, %1, %2, %3 : tensor<5x1xi64>, tensor<5x1xi64>, tensor<1x7xi64>, tensor<5x2xi64>
}

// What little arithmetic makes is not repeated, but what it reads is; functions that take long are not computed again for each copy.
// CHECK-LABEL: @repeated_at_a_call
// CHECK: %[[A:.*]] = "relax.dynamic_broadcast_to"(%arg0) {shape = #relax.dims<["broadcast(a, b)"]>}
// CHECK: %[[B:.*]] = "relax.dynamic_broadcast_to"(%arg1) {shape = #relax.dims<["broadcast(a, b)"]>}
// CHECK: %[[SUM:.*]] = "relax.add"(%[[A]], %[[B]])
// CHECK: %[[EXP:.*]] = "relax.exp"(%arg0)
// CHECK: %[[REPEATED:.*]] = "relax.dynamic_broadcast_to"(%[[EXP]])
// CHECK: return %[[SUM]], %[[REPEATED]]
func.func @repeated_at_a_call(%x: tensor<?xf32, #relax.dims<["a"]>>, %y: tensor<?xf32, #relax.dims<["a"]>>, %z: tensor<?xf32, #relax.dims<["b"]>>)
    -> (tensor<?xf32, #relax.dims<["broadcast(a, b)"]>>, tensor<?xf32, #relax.dims<["broadcast(a, b)"]>>) {
  %0 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.dims<["a"]>>, tensor<?xf32, #relax.dims<["a"]>>) -> tensor<?xf32, #relax.dims<["a"]>>
  %1 = "relax.dynamic_broadcast_to"(%0) {shape = #relax.dims<["broadcast(a, b)"]>}
      : (tensor<?xf32, #relax.dims<["a"]>>) -> tensor<?xf32, #relax.dims<["broadcast(a, b)"]>>
  %2 = "relax.exp"(%x) : (tensor<?xf32, #relax.dims<["a"]>>) -> tensor<?xf32, #relax.dims<["a"]>>
  %3 = "relax.dynamic_broadcast_to"(%2) {shape = #relax.dims<["broadcast(a, b)"]>}
      : (tensor<?xf32, #relax.dims<["a"]>>) -> tensor<?xf32, #relax.dims<["broadcast(a, b)"]>>
  return %1, %3 : tensor<?xf32, #relax.dims<["broadcast(a, b)"]>>, tensor<?xf32, #relax.dims<["broadcast(a, b)"]>>
}

// A scatter to all places of a box, as exporters write x[:, 1:3] = y, puts what is around it beside the updates.
// CHECK-LABEL: @box
// CHECK: %[[BEFORE:.*]] = "relax.strided_slice"(%arg0) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[1]>}
// CHECK: %[[AFTER:.*]] = "relax.strided_slice"(%arg0) {axes = array<i64: 1>, begin = #relax.dims<[3]>, end = #relax.dims<[4]>}
// CHECK: tensor.concat dim(1) %[[BEFORE]], %arg1, %[[AFTER]]
func.func @box(%x: tensor<2x4x5xf32>, %y: tensor<2x2x5xf32>) -> tensor<2x4x5xf32> {
  %i = "relax.constant"() {value = dense<[[0], [1]]> : tensor<2x1xi64>} : () -> tensor<2x1xi64>
  %j = "relax.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %0 = "relax.broadcast_to"(%i) {shape = #relax.dims<[2, 2]>} : (tensor<2x1xi64>) -> tensor<2x2xi64>
  %1 = "relax.broadcast_to"(%j) {shape = #relax.dims<[2, 2]>} : (tensor<2xi64>) -> tensor<2x2xi64>
  %2 = "relax.expand_dims"(%0) {axis = array<i64: 2>} : (tensor<2x2xi64>) -> tensor<2x2x1xi64>
  %3 = "relax.expand_dims"(%1) {axis = array<i64: 2>} : (tensor<2x2xi64>) -> tensor<2x2x1xi64>
  %4 = tensor.concat dim(2) %2, %3 : (tensor<2x2x1xi64>, tensor<2x2x1xi64>) -> tensor<2x2x2xi64>
  %5 = "relax.scatter_nd"(%x, %4, %y) : (tensor<2x4x5xf32>, tensor<2x2x2xi64>, tensor<2x2x5xf32>) -> tensor<2x4x5xf32>
  return %5 : tensor<2x4x5xf32>
}

// RUN: legato-opt %s --relax-collapse-batch | filecheck %s
// A batch of rows times a matrix is one matmul of all rows; what works on rows follows, the reshape goes to the end.

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<2x5x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %r: tensor<2x5x4xf32>, %g: tensor<4xf32>) -> tensor<2x5x4xf32> {
  // CHECK: %[[X:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<10x8xf32>
  // CHECK: %[[M:.*]] = "relax.matmul"(%[[X]], %arg1) : (tensor<10x8xf32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  // CHECK: %[[B:.*]] = "relax.add"(%[[M]], %arg2) : (tensor<10x4xf32>, tensor<4xf32>) -> tensor<10x4xf32>
  // CHECK: %[[R:.*]] = "relax.reshape"(%arg3) {{.*}} -> tensor<10x4xf32>
  // CHECK: %[[A:.*]] = "relax.add"(%[[B]], %[[R]]) : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  // CHECK: %[[N:.*]] = "relax.layer_norm"(%[[A]], %arg4, %arg2) {{.*}} -> tensor<10x4xf32>
  // CHECK: %[[Y:.*]] = "relax.reshape"(%[[N]]) {{.*}} -> tensor<2x5x4xf32>
  // CHECK: return %[[Y]]
  %0 = "relax.matmul"(%x, %w) : (tensor<2x5x8xf32>, tensor<8x4xf32>) -> tensor<2x5x4xf32>
  %1 = "relax.add"(%0, %b) : (tensor<2x5x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  %2 = "relax.add"(%1, %r) : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  %3 = "relax.layer_norm"(%2, %g, %b) {axes = array<i64: 2>} : (tensor<2x5x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  return %3 : tensor<2x5x4xf32>
}

// CHECK-LABEL: func.func @symbolic
// CHECK: "relax.matmul"({{.*}}) : (tensor<?x8xf32, #relax.dims<["n * 2", 8]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #relax.dims<["n * 2", 4]>>
func.func @symbolic(%x: tensor<2x?x8xf32, #relax.dims<[2, "n", 8]>>, %w: tensor<8x4xf32>) -> tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>> {
  %0 = "relax.matmul"(%x, %w) : (tensor<2x?x8xf32, #relax.dims<[2, "n", 8]>>, tensor<8x4xf32>) -> tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>
  return %0 : tensor<2x?x4xf32, #relax.dims<[2, "n", 4]>>
}

// What broadcasts along the leading dimensions stays after the reshape.
// CHECK-LABEL: func.func @not_by_rows
// CHECK: %[[V:.*]] = "relax.reshape"{{.*}} -> tensor<2x5x4xf32>
// CHECK: "relax.add"(%[[V]], %arg2)
func.func @not_by_rows(%x: tensor<2x5x8xf32>, %w: tensor<8x4xf32>, %b: tensor<5x4xf32>) -> tensor<2x5x4xf32> {
  %0 = "relax.matmul"(%x, %w) : (tensor<2x5x8xf32>, tensor<8x4xf32>) -> tensor<2x5x4xf32>
  %1 = "relax.add"(%0, %b) : (tensor<2x5x4xf32>, tensor<5x4xf32>) -> tensor<2x5x4xf32>
  return %1 : tensor<2x5x4xf32>
}

// Windows of 1 x h x w take slices for images. What is done with each element follows.
// CHECK-LABEL: func.func @slices
// CHECK: %[[X:.*]] = "relax.reshape"(%arg0) {{.*}} -> tensor<6x5x6x8xf32>
// CHECK: %[[W:.*]] = "relax.reshape"(%arg1) {{.*}} -> tensor<3x3x8x4xf32>
// CHECK: %[[C:.*]] = "relax.conv2d"(%[[X]], %[[W]]) {{{.*}}padding = array<i64: 1, 0, 1, 1>, strides = array<i64: 2, 1>} : {{.*}} -> tensor<6x3x5x4xf32>
// CHECK: %[[R:.*]] = "relax.relu"(%[[C]])
// CHECK: %[[Y:.*]] = "relax.reshape"(%[[R]]) {{.*}} -> tensor<2x3x3x5x4xf32>
// CHECK: return %[[Y]]
func.func @slices(%x: tensor<2x3x5x6x8xf32>, %w: tensor<1x3x3x8x4xf32>) -> tensor<2x3x3x5x4xf32> {
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 1, 2, 1>, padding = array<i64: 0, 1, 0, 0, 1, 1>, data_layout = "NDHWC", kernel_layout = "DHWIO"}
    : (tensor<2x3x5x6x8xf32>, tensor<1x3x3x8x4xf32>) -> tensor<2x3x3x5x4xf32>
  %1 = "relax.relu"(%0) : (tensor<2x3x3x5x4xf32>) -> tensor<2x3x3x5x4xf32>
  return %1 : tensor<2x3x3x5x4xf32>
}

// Those of d x 1 x 1 take slices for rows; of a symbolic number of images, too.
// CHECK-LABEL: func.func @depth
// CHECK: "relax.conv2d"{{.*}}dilations = array<i64: 2, 1>{{.*}}padding = array<i64: 2, 0, 1, 0>{{.*}}tensor<?x7x30x8xf32, {{.*}}>, tensor<3x1x8x4xf32>
func.func @depth(%x: tensor<?x7x5x6x8xf32, #relax.dims<["n", 7, 5, 6, 8]>>, %w: tensor<3x1x1x8x4xf32>) -> tensor<?x6x5x6x4xf32, #relax.dims<["n", 6, 5, 6, 4]>> {
  %0 = "relax.conv3d"(%x, %w) {padding = array<i64: 2, 0, 0, 1, 0, 0>, dilations = array<i64: 2, 1, 1>, data_layout = "NDHWC", kernel_layout = "DHWIO"}
    : (tensor<?x7x5x6x8xf32, #relax.dims<["n", 7, 5, 6, 8]>>, tensor<3x1x1x8x4xf32>) -> tensor<?x6x5x6x4xf32, #relax.dims<["n", 6, 5, 6, 4]>>
  return %0 : tensor<?x6x5x6x4xf32, #relax.dims<["n", 6, 5, 6, 4]>>
}

// Slices that windows do not share are channels of one.
// CHECK-LABEL: func.func @joined
// CHECK: "relax.permute_dims"{{.*}}tensor<2x3x2x8x6x3xf32>) -> tensor<2x3x8x6x2x3xf32>
// CHECK: "relax.conv2d"{{.*}}strides = array<i64: 4, 2>} : (tensor<6x8x6x6xf32>, tensor<4x2x6x5xf32>)
func.func @joined(%x: tensor<2x6x8x6x3xf32>, %w: tensor<2x4x2x3x5xf32>) -> tensor<2x3x2x3x5xf32> {
  %0 = "relax.conv3d"(%x, %w) {strides = array<i64: 2, 4, 2>, data_layout = "NDHWC", kernel_layout = "DHWIO"}
    : (tensor<2x6x8x6x3xf32>, tensor<2x4x2x3x5xf32>) -> tensor<2x3x2x3x5xf32>
  return %0 : tensor<2x3x2x3x5xf32>
}

// Padding or a stride along a dimension of one tap is not left out.
// CHECK-LABEL: func.func @volumes
// CHECK-NOT: "relax.conv2d"
func.func @volumes(%x: tensor<2x3x5x6x8xf32>, %w: tensor<1x3x3x8x4xf32>, %v: tensor<3x1x1x8x4xf32>) -> (tensor<2x5x3x4x4xf32>, tensor<2x1x5x3x4xf32>) {
  %0 = "relax.conv3d"(%x, %w) {padding = array<i64: 1, 0, 0, 1, 0, 0>, data_layout = "NDHWC", kernel_layout = "DHWIO"}
    : (tensor<2x3x5x6x8xf32>, tensor<1x3x3x8x4xf32>) -> tensor<2x5x3x4x4xf32>
  %1 = "relax.conv3d"(%x, %v) {strides = array<i64: 1, 1, 2>, data_layout = "NDHWC", kernel_layout = "DHWIO"}
    : (tensor<2x3x5x6x8xf32>, tensor<3x1x1x8x4xf32>) -> tensor<2x1x5x3x4xf32>
  return %0, %1 : tensor<2x5x3x4x4xf32>, tensor<2x1x5x3x4xf32>
}

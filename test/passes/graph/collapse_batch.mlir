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

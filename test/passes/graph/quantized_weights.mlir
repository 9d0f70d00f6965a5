// RUN: legato-opt %s --relax-quantized-weights | filecheck %s

// A weight of 4 bits in blocks of 8 rows: one word a block and column, the first row in its lowest bits. Panels have 16 columns or more.
// CHECK-LABEL: func.func @blocks(
// CHECK-DAG: %[[W:.*]] = "relax.constant"() {value = dense<{{.*}}1985229328, 0, 0{{.*}}> : tensor<1x2x1x16xi32>}
// CHECK-DAG: %[[S:.*]] = "relax.constant"() {value = dense<{{.*}}> : tensor<1x2x16xf32>}
// CHECK-DAG: %[[Z:.*]] = "relax.constant"() {value = dense<{{.*}}> : tensor<0xf32>}
// CHECK: "relax.matmul_quantized"(%arg0, %[[W]], %[[S]], %[[Z]]) {bits = 4 : i64, columns = 1 : i64} : (tensor<?x16xf32, {{.*}}) -> tensor<?x1xf32
// CHECK-NOT: relax.matmul"
func.func @blocks(%x: tensor<?x16xf32, #relax.dims<["n", 16]>>) -> tensor<?x1xf32, #relax.dims<["n", 1]>> {
  %w = "relax.constant"() {value = dense<[[0], [1], [2], [3], [4], [5], [6], [7], [-8], [-7], [-6], [-5], [-4], [-3], [-2], [-1]]> : tensor<16x1xi8>} : () -> tensor<16x1xi8>
  %s = "relax.constant"() {value = dense<[[2.0], [3.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %g = "relax.constant"() {value = dense<[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]> : tensor<16xi64>} : () -> tensor<16xi64>
  %0 = "relax.astype"(%w) {dtype = f32} : (tensor<16x1xi8>) -> tensor<16x1xf32>
  %1 = "relax.take"(%s, %g) : (tensor<2x1xf32>, tensor<16xi64>) -> tensor<16x1xf32>
  %2 = "relax.multiply"(%0, %1) : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32>
  %3 = "relax.matmul"(%x, %2) : (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<16x1xf32>) -> tensor<?x1xf32, #relax.dims<["n", 1]>>
  return %3 : tensor<?x1xf32, #relax.dims<["n", 1]>>
}

// Groups whose rows do not follow each other: the columns of the input are put into their order.
// CHECK-LABEL: func.func @shuffled(
// CHECK: %[[ORDER:.*]] = "relax.constant"() {value = dense<[0, 2, 1, 3]> : tensor<4xi64>}
// CHECK: %[[X:.*]] = "relax.take"(%arg0, %[[ORDER]]) {axis = -1 : i64}
// CHECK: "relax.matmul_quantized"(%[[X]], %{{.*}}) {bits = 8 : i64, columns = 1 : i64}
func.func @shuffled(%x: tensor<3x4xf32>) -> tensor<3x1xf32> {
  %w = "relax.constant"() {value = dense<[[100], [1], [-100], [3]]> : tensor<4x1xi8>} : () -> tensor<4x1xi8>
  %s = "relax.constant"() {value = dense<[[2.0], [3.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %g = "relax.constant"() {value = dense<[0, 1, 0, 1]> : tensor<4xi64>} : () -> tensor<4xi64>
  %0 = "relax.astype"(%w) {dtype = f32} : (tensor<4x1xi8>) -> tensor<4x1xf32>
  %1 = "relax.take"(%s, %g) : (tensor<2x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  %2 = "relax.multiply"(%0, %1) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = "relax.matmul"(%x, %2) : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  return %3 : tensor<3x1xf32>
}

// A weight that is computed at run time stays, and so does one with a scale for each row that is in no table of blocks.
// CHECK-LABEL: func.func @left(
// CHECK-COUNT-2: "relax.matmul"(
func.func @left(%x: tensor<3x4xf32>, %q: tensor<4x1xi8>, %s: tensor<1xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>) {
  %0 = "relax.astype"(%q) {dtype = f32} : (tensor<4x1xi8>) -> tensor<4x1xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %2 = "relax.matmul"(%x, %1) : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  %w = "relax.constant"() {value = dense<[[100], [1], [-100], [3]]> : tensor<4x1xi8>} : () -> tensor<4x1xi8>
  %r = "relax.constant"() {value = dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>} : () -> tensor<4x1xf32>
  %3 = "relax.astype"(%w) {dtype = f32} : (tensor<4x1xi8>) -> tensor<4x1xf32>
  %4 = "relax.multiply"(%3, %r) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = "relax.matmul"(%x, %4) : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  return %2, %5 : tensor<3x1xf32>, tensor<3x1xf32>
}

// Gathers from a dequantized table: of its rows, which stay in 4 bits, as numbers from 0 on, and of the scales of these rows.
// CHECK-LABEL: func.func @gathered(
// CHECK-DAG: %[[T:.*]] = "relax.constant"() {weight = "table.packed"} : () -> tensor<256x32xui8>
// CHECK-DAG: %[[S:.*]] = "relax.constant"() {value = dense<2.000000e+00> : tensor<256x1xf32>}
// CHECK-DAG: %[[ROWS:.*]] = "relax.take"(%[[T]], %arg0)
// CHECK: "relax.right_shift"
// CHECK: "relax.bitwise_and"
// CHECK: "relax.add"{{.*}} -> tensor<3x64xi8>
// CHECK: %[[OF_ROWS:.*]] = "relax.take"(%[[S]], %arg0)
// CHECK: "relax.multiply"(%{{.*}}, %[[OF_ROWS]]) : (tensor<3x64xf32>, tensor<3x1xf32>)
// CHECK-NOT: tensor<256x64
func.func @gathered(%i: tensor<3xi64>) -> tensor<3x64xf32> {
  %w = "relax.constant"() {value = dense<-8> : tensor<256x64xi8>} : () -> tensor<256x64xi8>
  %s = "relax.constant"() {value = dense<2.0> : tensor<256x1xf32>} : () -> tensor<256x1xf32>
  %0 = "relax.astype"(%w) {dtype = f32} : (tensor<256x64xi8>) -> tensor<256x64xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<256x64xf32>, tensor<256x1xf32>) -> tensor<256x64xf32>
  %2 = "relax.take"(%1, %i) : (tensor<256x64xf32>, tensor<3xi64>) -> tensor<3x64xf32>
  return %2 : tensor<3x64xf32>
}

// Each branch has its own packed weight.
// CHECK-LABEL: func.func @branches(
// CHECK: scf.if
// CHECK: "relax.matmul_quantized"(%arg0
// CHECK: else
// CHECK: "relax.matmul_quantized"(
func.func @branches(%x: tensor<3x4xf32>, %c: i1) -> tensor<3x2xf32> {
  %q = "relax.constant"() {value = dense<[[1, 100], [2, -100], [3, 50], [4, 3]]> : tensor<4x2xi8>} : () -> tensor<4x2xi8>
  %s = "relax.constant"() {value = dense<0.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "relax.astype"(%q) {dtype = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %w = "relax.multiply"(%0, %s) : (tensor<4x2xf32>, tensor<1xf32>) -> tensor<4x2xf32>
  %r = scf.if %c -> (tensor<3x2xf32>) {
    %1 = "relax.matmul"(%x, %w) : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    scf.yield %1 : tensor<3x2xf32>
  } else {
    %2 = "relax.negative"(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %3 = "relax.matmul"(%2, %w) : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
    scf.yield %3 : tensor<3x2xf32>
  }
  return %r : tensor<3x2xf32>
}

// Rows of which the model says that bytes suffice.
// CHECK-LABEL: func.func @rows_in_bytes(
// CHECK: "relax.matmul_quantized"{{.*}} {bits = 8 : i64, columns = 1 : i64, rows_in_bytes = true}
func.func @rows_in_bytes(%x: tensor<3x4xf32>) -> tensor<3x1xf32> {
  %w = "relax.constant"() {value = dense<[[100], [1], [-100], [3]]> : tensor<4x1xi8>} : () -> tensor<4x1xi8>
  %s = "relax.constant"() {value = dense<[[2.0]]> : tensor<1x1xf32>} : () -> tensor<1x1xf32>
  %0 = "relax.astype"(%w) {dtype = f32} : (tensor<4x1xi8>) -> tensor<4x1xf32>
  %1 = "relax.multiply"(%0, %s) : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
  %2 = "relax.matmul"(%x, %1) {relax.rows_in_bytes} : (tensor<3x4xf32>, tensor<4x1xf32>) -> tensor<3x1xf32>
  return %2 : tensor<3x1xf32>
}

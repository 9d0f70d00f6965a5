// RUN: legato-opt %s --relax-fold-turned-factors="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-fold-turned-factors="target=llvm{cpu=x86-64-v2}" | filecheck %s --check-prefix=NO-FMA

// One row, and up to half of the depth, read the matrix as it is.
// NO-FMA-NOT: matmul_turned
// CHECK-LABEL: func.func @folded
// CHECK: "relax.matmul_turned"(%arg0, %arg2) : (tensor<1x64xf32>, tensor<100x64xf32>) -> tensor<1x100xf32>
// CHECK: "relax.matmul_turned"(%arg1, %arg3) : (tensor<32x64xf32>, tensor<100x64xf32>) -> tensor<32x100xf32>
// CHECK-NOT: permute_dims
func.func @folded(%x: tensor<1x64xf32>, %y: tensor<32x64xf32>, %a: tensor<100x64xf32>, %b: tensor<100x64xf32>)
    -> (tensor<1x100xf32>, tensor<32x100xf32>) {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<100x64xf32>) -> tensor<64x100xf32>
  %1 = "relax.matmul"(%x, %0) : (tensor<1x64xf32>, tensor<64x100xf32>) -> tensor<1x100xf32>
  %2 = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<100x64xf32>) -> tensor<64x100xf32>
  %3 = "relax.matmul"(%y, %2) : (tensor<32x64xf32>, tensor<64x100xf32>) -> tensor<32x100xf32>
  return %1, %3 : tensor<1x100xf32>, tensor<32x100xf32>
}

// Of an unknown number of rows the depth decides.
// CHECK-LABEL: func.func @unknown
// CHECK: "relax.matmul_turned"
// CHECK: "relax.matmul"(
func.func @unknown(%x: tensor<?x256xf32, #relax.dims<["n", 256]>>, %y: tensor<?x255xf32, #relax.dims<["n", 255]>>, %a: tensor<100x256xf32>,
                   %b: tensor<100x255xf32>) -> (tensor<?x100xf32, #relax.dims<["n", 100]>>, tensor<?x100xf32, #relax.dims<["n", 100]>>) {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<100x256xf32>) -> tensor<256x100xf32>
  %1 = "relax.matmul"(%x, %0) : (tensor<?x256xf32, #relax.dims<["n", 256]>>, tensor<256x100xf32>) -> tensor<?x100xf32, #relax.dims<["n", 100]>>
  %2 = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<100x255xf32>) -> tensor<255x100xf32>
  %3 = "relax.matmul"(%y, %2) : (tensor<?x255xf32, #relax.dims<["n", 255]>>, tensor<255x100xf32>) -> tensor<?x100xf32, #relax.dims<["n", 100]>>
  return %1, %3 : tensor<?x100xf32, #relax.dims<["n", 100]>>, tensor<?x100xf32, #relax.dims<["n", 100]>>
}

// Batches of products, too; a row or two of halves, and three of doubles.
// CHECK-LABEL: func.func @batches
// CHECK: "relax.matmul_turned"(%arg0, %arg1) : (tensor<2x4x64xf32>, tensor<2x100x64xf32>) -> tensor<2x4x100xf32>
// CHECK: "relax.matmul_turned"
// CHECK: "relax.matmul_turned"
// CHECK-NOT: permute_dims
func.func @batches(%x: tensor<2x4x64xf32>, %a: tensor<2x100x64xf32>, %y: tensor<2x64xf16>, %b: tensor<100x64xf16>, %z: tensor<3x64xf64>,
                   %c: tensor<100x64xf64>) -> (tensor<2x4x100xf32>, tensor<2x100xf16>, tensor<3x100xf64>) {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 0, 2, 1>} : (tensor<2x100x64xf32>) -> tensor<2x64x100xf32>
  %1 = "relax.matmul"(%x, %0) : (tensor<2x4x64xf32>, tensor<2x64x100xf32>) -> tensor<2x4x100xf32>
  %2 = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<100x64xf16>) -> tensor<64x100xf16>
  %3 = "relax.matmul"(%y, %2) : (tensor<2x64xf16>, tensor<64x100xf16>) -> tensor<2x100xf16>
  %4 = "relax.permute_dims"(%c) {axes = array<i64: 1, 0>} : (tensor<100x64xf64>) -> tensor<64x100xf64>
  %5 = "relax.matmul"(%z, %4) : (tensor<3x64xf64>, tensor<64x100xf64>) -> tensor<3x100xf64>
  return %1, %3, %5 : tensor<2x4x100xf32>, tensor<2x100xf16>, tensor<3x100xf64>
}

// Scores of an attention are left to the pass that makes one kernel of it.
// CHECK-LABEL: func.func @scores
// CHECK-NOT: matmul_turned
func.func @scores(%x: tensor<2x4x64xf32>, %a: tensor<2x100x64xf32>, %m: tensor<2x4x100xf32>) -> tensor<2x4x100xf32> {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 0, 2, 1>} : (tensor<2x100x64xf32>) -> tensor<2x64x100xf32>
  %1 = "relax.matmul"(%x, %0) : (tensor<2x4x64xf32>, tensor<2x64x100xf32>) -> tensor<2x4x100xf32>
  %2 = "relax.add"(%1, %m) : (tensor<2x4x100xf32>, tensor<2x4x100xf32>) -> tensor<2x4x100xf32>
  %3 = "relax.softmax"(%2) {axis = 2 : i64} : (tensor<2x4x100xf32>) -> tensor<2x4x100xf32>
  return %3 : tensor<2x4x100xf32>
}

// More rows are left alone, also of halves, and so is a transpose that something else reads.
// CHECK-LABEL: func.func @left
// CHECK-NOT: matmul_turned
func.func @left(%x: tensor<33x64xf32>, %y: tensor<3x64xf16>, %z: tensor<4x64xf32>, %a: tensor<100x64xf32>, %b: tensor<100x64xf16>)
    -> (tensor<33x100xf32>, tensor<3x100xf16>, tensor<4x100xf32>) {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<100x64xf32>) -> tensor<64x100xf32>
  %1 = "relax.matmul"(%x, %0) : (tensor<33x64xf32>, tensor<64x100xf32>) -> tensor<33x100xf32>
  %2 = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<100x64xf16>) -> tensor<64x100xf16>
  %3 = "relax.matmul"(%y, %2) : (tensor<3x64xf16>, tensor<64x100xf16>) -> tensor<3x100xf16>
  %4 = "relax.matmul"(%z, %0) : (tensor<4x64xf32>, tensor<64x100xf32>) -> tensor<4x100xf32>
  return %1, %3, %4 : tensor<33x100xf32>, tensor<3x100xf16>, tensor<4x100xf32>
}

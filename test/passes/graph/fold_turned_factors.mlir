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

// More rows are left alone, and so are halves, batches, and a transpose that something else reads.
// CHECK-LABEL: func.func @left
// CHECK-NOT: matmul_turned
func.func @left(%x: tensor<33x64xf32>, %y: tensor<4x64xf16>, %z: tensor<2x4x64xf32>, %a: tensor<100x64xf32>, %b: tensor<100x64xf16>)
    -> (tensor<33x100xf32>, tensor<4x100xf16>, tensor<2x4x100xf32>, tensor<64x100xf32>) {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<100x64xf32>) -> tensor<64x100xf32>
  %1 = "relax.matmul"(%x, %0) : (tensor<33x64xf32>, tensor<64x100xf32>) -> tensor<33x100xf32>
  %2 = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<100x64xf16>) -> tensor<64x100xf16>
  %3 = "relax.matmul"(%y, %2) : (tensor<4x64xf16>, tensor<64x100xf16>) -> tensor<4x100xf16>
  %4 = "relax.matmul"(%z, %0) : (tensor<2x4x64xf32>, tensor<64x100xf32>) -> tensor<2x4x100xf32>
  return %1, %3, %4, %0 : tensor<33x100xf32>, tensor<4x100xf16>, tensor<2x4x100xf32>, tensor<64x100xf32>
}

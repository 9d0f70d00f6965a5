// RUN: legato-opt %s --relax-turn-few-columns="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-turn-few-columns="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2

// A column is a row of the same elements, and so is the result.
// CHECK-LABEL: func.func @column
// CHECK: %[[R:.*]] = "relax.reshape"(%arg1) {{.*}} -> tensor<1x16xf32>
// CHECK: %[[Y:.*]] = "relax.matmul_turned"(%[[R]], %arg0) : (tensor<1x16xf32>, tensor<?x16xf32, {{.*}}>) -> tensor<1x?xf32, {{.*}}>
// CHECK: "relax.reshape"(%[[Y]]) {{.*}} -> tensor<?x1xf32, {{.*}}>
func.func @column(%x: tensor<?x16xf32, #relax.dims<["n", 16]>>, %w: tensor<16x1xf32>) -> tensor<?x1xf32, #relax.dims<["n", 1]>> {
  %0 = "relax.matmul"(%x, %w) : (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<16x1xf32>) -> tensor<?x1xf32, #relax.dims<["n", 1]>>
  return %0 : tensor<?x1xf32, #relax.dims<["n", 1]>>
}

// Two columns are turned, and so is the result; three are of halves only. A depth of 20 fills a vector of AVX2 for each of two columns.
// CHECK-LABEL: func.func @columns
// CHECK: "relax.matmul"(%arg0, %arg1)
// CHECK: %[[T:.*]] = "relax.permute_dims"(%arg3) {axes = array<i64: 1, 0>}
// CHECK: %[[Y:.*]] = "relax.matmul_turned"(%[[T]], %arg2) : (tensor<3x48xbf16>, tensor<4x5x48xbf16>) -> tensor<4x3x5xbf16>
// CHECK: "relax.permute_dims"(%[[Y]]) {axes = array<i64: 0, 2, 1>}
// CHECK: "relax.matmul"(%arg4, %arg5)
// AVX2-LABEL: func.func @columns
// AVX2: "relax.permute_dims"(%arg1) {axes = array<i64: 1, 0>}
// AVX2: "relax.matmul"(%arg4, %arg5)
func.func @columns(%x: tensor<8x20xf32>, %w: tensor<20x2xf32>, %y: tensor<4x5x48xbf16>, %v: tensor<48x3xbf16>, %z: tensor<9x64xf32>,
                   %u: tensor<64x3xf32>) -> (tensor<8x2xf32>, tensor<4x5x3xbf16>, tensor<9x3xf32>) {
  %0 = "relax.matmul"(%x, %w) : (tensor<8x20xf32>, tensor<20x2xf32>) -> tensor<8x2xf32>
  %1 = "relax.matmul"(%y, %v) : (tensor<4x5x48xbf16>, tensor<48x3xbf16>) -> tensor<4x5x3xbf16>
  %2 = "relax.matmul"(%z, %u) : (tensor<9x64xf32>, tensor<64x3xf32>) -> tensor<9x3xf32>
  return %0, %1, %2 : tensor<8x2xf32>, tensor<4x5x3xbf16>, tensor<9x3xf32>
}

// Left alone: few rows, a depth that is short or not known, vectors, integers.
// CHECK-LABEL: func.func @left
// CHECK-NOT: matmul_turned
// CHECK: return
func.func @left(%x: tensor<3x64xf32>, %w: tensor<64x1xf32>, %y: tensor<50x15xf32>, %v: tensor<15x1xf32>,
                %z: tensor<50x?xf32, #relax.dims<[50, "k"]>>, %u: tensor<?x1xf32, #relax.dims<["k", 1]>>, %t: tensor<64xf32>,
                %i: tensor<50x64xi32>, %j: tensor<64x1xi32>) -> (tensor<3x1xf32>, tensor<50x1xf32>, tensor<50x1xf32>, tensor<3xf32>, tensor<50x1xi32>) {
  %0 = "relax.matmul"(%x, %w) : (tensor<3x64xf32>, tensor<64x1xf32>) -> tensor<3x1xf32>
  %1 = "relax.matmul"(%y, %v) : (tensor<50x15xf32>, tensor<15x1xf32>) -> tensor<50x1xf32>
  %2 = "relax.matmul"(%z, %u) : (tensor<50x?xf32, #relax.dims<[50, "k"]>>, tensor<?x1xf32, #relax.dims<["k", 1]>>) -> tensor<50x1xf32>
  %3 = "relax.matmul"(%x, %t) : (tensor<3x64xf32>, tensor<64xf32>) -> tensor<3xf32>
  %4 = "relax.matmul"(%i, %j) : (tensor<50x64xi32>, tensor<64x1xi32>) -> tensor<50x1xi32>
  return %0, %1, %2, %3, %4 : tensor<3x1xf32>, tensor<50x1xf32>, tensor<50x1xf32>, tensor<3xf32>, tensor<50x1xi32>
}

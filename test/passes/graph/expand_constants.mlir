// RUN: legato-opt %s --relax-expand-constants="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-expand-constants="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2

// Boxes of four numbers by one stride each: two numbers, four times each.
// CHECK-LABEL: func.func @boxes
// CHECK: %[[C:.*]] = "relax.constant"() {value = dense<{{\[}}[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00], [2.000000e+00, 2.000000e+00, 2.000000e+00, 2.000000e+00]]> : tensor<2x4xf32>}
// CHECK: "relax.multiply"(%arg0, %[[C]]) : (tensor<2x4xf32>, tensor<2x4xf32>)
func.func @boxes(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = "relax.constant"() {value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %0 = "relax.multiply"(%x, %c) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Pixels of three channels less their means: a row of them, not the whole image. Also of an unknown number of images.
// CHECK-LABEL: func.func @pixels
// CHECK: "relax.subtract"(%{{.*}}) : (tensor<?x90x90x3xf32{{.*}}>, tensor<1x1x90x3xf32>)
func.func @pixels(%x: tensor<?x90x90x3xf32, #relax.dims<["n", 90, 90, 3]>>) -> tensor<?x90x90x3xf32, #relax.dims<["n", 90, 90, 3]>> {
  %c = "relax.constant"() {value = dense<[0.4, 0.5, 0.6]> : tensor<3xf32>} : () -> tensor<3xf32>
  %0 = "relax.subtract"(%x, %c) : (tensor<?x90x90x3xf32, #relax.dims<["n", 90, 90, 3]>>, tensor<3xf32>) -> tensor<?x90x90x3xf32, #relax.dims<["n", 90, 90, 3]>>
  return %0 : tensor<?x90x90x3xf32, #relax.dims<["n", 90, 90, 3]>>
}

// Rows of nine fill a vector of AVX2, not of AVX-512.
// CHECK-LABEL: func.func @nine
// CHECK: (tensor<8x9xf32>, tensor<8x9xf32>)
// AVX2-LABEL: func.func @nine
// AVX2: (tensor<8x9xf32>, tensor<8x1xf32>)
func.func @nine(%x: tensor<8x9xf32>) -> tensor<8x9xf32> {
  %c = "relax.constant"() {value = dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0]]> : tensor<8x1xf32>} : () -> tensor<8x1xf32>
  %0 = "relax.add"(%x, %c) : (tensor<8x9xf32>, tensor<8x1xf32>) -> tensor<8x9xf32>
  return %0 : tensor<8x9xf32>
}

// One number for all, the sizes of other axes unknown, and what follows a product, whose tiles read a bias as a vector: as they are.
// CHECK-LABEL: func.func @kept
// CHECK: (tensor<2x4xf32>, tensor<1x1xf32>)
// CHECK: (tensor<?x4xf32{{.*}}>, tensor<4xf32>)
// CHECK: "relax.add"(%{{.*}}) : (tensor<2x4xf32>, tensor<4xf32>)
func.func @kept(%x: tensor<2x4xf32>, %y: tensor<?x4xf32, #relax.dims<["n", 4]>>, %w: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<2x4xf32>) {
  %one = "relax.constant"() {value = dense<2.0> : tensor<1x1xf32>} : () -> tensor<1x1xf32>
  %four = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = "relax.multiply"(%x, %one) : (tensor<2x4xf32>, tensor<1x1xf32>) -> tensor<2x4xf32>
  %1 = "relax.multiply"(%y, %four) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %2 = "relax.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = "relax.add"(%2, %four) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0, %1, %3 : tensor<2x4xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<2x4xf32>
}

// A constant that two ops read is repeated once; in a branch it is repeated again.
// CHECK-LABEL: func.func @shared
// CHECK: "relax.constant"
// CHECK-NOT: "relax.constant"
// CHECK: scf.if
// CHECK: "relax.constant"
// CHECK-NOT: "relax.constant"
// CHECK: return
func.func @shared(%x: tensor<2x4xf32>, %b: i1) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %c = "relax.constant"() {value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %0 = "relax.multiply"(%x, %c) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = "relax.add"(%0, %c) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = scf.if %b -> tensor<2x4xf32> {
    %3 = "relax.subtract"(%x, %c) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    scf.yield %3 : tensor<2x4xf32>
  } else {
    scf.yield %x : tensor<2x4xf32>
  }
  return %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}

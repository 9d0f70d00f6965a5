// RUN: legato-opt %s --split-input-file --relax-legalize=target=generic --func.func(canonicalize,cse) --tir-fuse-slices --symbol-dce --canonicalize --cse | filecheck %s

// A roll along two axes: slices of what is rolled, written to their places by one kernel.
// CHECK-LABEL: func.func @roll(
// CHECK: %[[OUT:.*]] = tensor.empty() : tensor<8x6xf32>
// CHECK-NEXT: %[[Y:.*]] = call @fused_{{.*}}(%arg0, %[[OUT]])
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: func.func private @fused_
// CHECK-COUNT-4: tensor.extract_slice %arg0
// CHECK-NOT: linalg
func.func @roll(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[3, 2]>, end = #relax.dims<[8, 6]>} : (tensor<8x6xf32>) -> tensor<5x4xf32>
  %1 = "relax.strided_slice"(%x) {begin = #relax.dims<[0, 2]>, end = #relax.dims<[3, 6]>} : (tensor<8x6xf32>) -> tensor<3x4xf32>
  %2 = tensor.concat dim(0) %0, %1 : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %3 = "relax.strided_slice"(%x) {begin = #relax.dims<[3, 0]>, end = #relax.dims<[8, 2]>} : (tensor<8x6xf32>) -> tensor<5x2xf32>
  %4 = "relax.strided_slice"(%x) {begin = #relax.dims<[0, 0]>, end = #relax.dims<[3, 2]>} : (tensor<8x6xf32>) -> tensor<3x2xf32>
  %5 = tensor.concat dim(0) %3, %4 : (tensor<5x2xf32>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %6 = tensor.concat dim(1) %2, %5 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
  return %6 : tensor<8x6xf32>
}

// -----

// A size that only the call knows is that of the result where it is not concatenated.
// CHECK-LABEL: func.func @rows(
// CHECK: call @fused_strided_slice_strided_slice_concat(
// CHECK-NOT: call
// CHECK: return
func.func @rows(%x: tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[2]>, end = #relax.dims<[6]>, axes = array<i64: 1>} : (tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %1 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 1>} : (tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %2 = tensor.concat dim(1) %0, %1 : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>>
  return %2 : tensor<?x6xf32, #relax.dims<["n", 6]>>
}

// -----

// Where it is concatenated, the size of a part is not known to the kernel. And a slice that something else reads stays.
// CHECK-LABEL: func.func @kept(
// CHECK: call @kernel_strided_slice
// CHECK: call @kernel_concat
// CHECK: call @kernel_strided_slice
// CHECK: call @fused_strided_slice_concat
func.func @kept(%x: tensor<?x6xf32, #relax.dims<["n", 6]>>, %y: tensor<4x6xf32>)
    -> (tensor<?x6xf32, #relax.dims<["n + 3", 6]>>, tensor<2x6xf32>, tensor<4x6xf32>) {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[1]>, end = #relax.dims<["n"]>, axes = array<i64: 0>} : (tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?x6xf32, #relax.dims<["n - 1", 6]>>
  %1 = tensor.concat dim(0) %0, %y : (tensor<?x6xf32, #relax.dims<["n - 1", 6]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #relax.dims<["n + 3", 6]>>
  %2 = "relax.strided_slice"(%y) {begin = #relax.dims<[0]>, end = #relax.dims<[2]>, axes = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %3 = "relax.strided_slice"(%y) {begin = #relax.dims<[2]>, end = #relax.dims<[4]>, axes = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %4 = tensor.concat dim(0) %3, %2 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  return %1, %2, %4 : tensor<?x6xf32, #relax.dims<["n + 3", 6]>>, tensor<2x6xf32>, tensor<4x6xf32>
}

// -----

// A pad of a slice fills its place in what is concatenated, and a pad takes its rows from where they stand.
// CHECK-LABEL: func.func @pads(
// CHECK: call @fused_strided_slice_pad_concat_pad(
// CHECK-NOT: call
// CHECK-LABEL: func.func private @fused_strided_slice_pad_concat_pad(
// CHECK: tensor.extract_slice %arg0
// CHECK: linalg.fill
// CHECK: linalg.fill
func.func @pads(%x: tensor<8x6xf32>, %y: tensor<5x6xf32>) -> tensor<11x6xf32> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[4]>} : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = "relax.pad"(%0) {pads = array<i64: 1, 0, 0, 0>} : (tensor<4x6xf32>) -> tensor<5x6xf32>
  %2 = tensor.concat dim(0) %1, %y : (tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<10x6xf32>
  %3 = "relax.pad"(%2) {pads = array<i64: 0, 0, 1, 0>} : (tensor<10x6xf32>) -> tensor<11x6xf32>
  return %3 : tensor<11x6xf32>
}

// -----

// What is padded may be smaller than the result: of sizes that only the call knows it stays.
// CHECK-LABEL: func.func @unknown(
// CHECK: call @kernel_strided_slice
// CHECK: call @kernel_pad
func.func @unknown(%x: tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?x4xf32, #relax.dims<["n + 1", 4]>> {
  %0 = "relax.strided_slice"(%x) {begin = #relax.dims<[0]>, end = #relax.dims<[4]>, axes = array<i64: 1>} : (tensor<?x6xf32, #relax.dims<["n", 6]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %1 = "relax.pad"(%0) {pads = array<i64: 0, 0, 1, 0>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n + 1", 4]>>
  return %1 : tensor<?x4xf32, #relax.dims<["n + 1", 4]>>
}

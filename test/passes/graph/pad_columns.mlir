// RUN: legato-opt %s --relax-pad-columns="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-pad-columns="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2

// 31 columns of vectors of 16 are 16 + 8 + 4 + 2 + 1; 21 are 16 + 4 + 1, and 24 16 + 8. One that is left is computed as one: 17.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[W:.*]] = "relax.constant"() {weight = {{.*}}} : () -> tensor<256x32xf32>
// CHECK: %[[Y:.*]] = "relax.matmul"(%arg0, %[[W]])
// CHECK: "relax.strided_slice"(%[[Y]]) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[31]>{{.*}} -> tensor<64x31xf32>
// CHECK: "relax.matmul"{{.*}}tensor<256x24xf32>
// CHECK: "relax.matmul"{{.*}}tensor<256x17xf32>
// Of vectors of 8, 21 are two and 4 + 1, as long as three.
// AVX2-LABEL: func.func @columns(
// AVX2: "relax.matmul"{{.*}}tensor<256x32xf32>
// AVX2: "relax.matmul"{{.*}}tensor<256x21xf32>
func.func @columns(%x: tensor<64x256xf32>) -> (tensor<64x31xf32>, tensor<64x21xf32>, tensor<64x17xf32>) {
  %a = "relax.constant"() {value = dense<0.5> : tensor<256x31xf32>} : () -> tensor<256x31xf32>
  %b = "relax.constant"() {value = dense<0.5> : tensor<256x21xf32>} : () -> tensor<256x21xf32>
  %c = "relax.constant"() {value = dense<0.5> : tensor<256x17xf32>} : () -> tensor<256x17xf32>
  %0 = "relax.matmul"(%x, %a) : (tensor<64x256xf32>, tensor<256x31xf32>) -> tensor<64x31xf32>
  %1 = "relax.matmul"(%x, %b) : (tensor<64x256xf32>, tensor<256x21xf32>) -> tensor<64x21xf32>
  %2 = "relax.matmul"(%x, %c) : (tensor<64x256xf32>, tensor<256x17xf32>) -> tensor<64x17xf32>
  return %0, %1, %2 : tensor<64x31xf32>, tensor<64x21xf32>, tensor<64x17xf32>
}

// So are filters of one element with features last, and integers; rows may be known to the call only.
// CHECK-LABEL: func.func @others(
// CHECK: "relax.conv2d"{{.*}}tensor<1x1x256x48xf32>
// CHECK: "relax.strided_slice"{{.*}} -> tensor<?x8x8x47xf32
// CHECK: "relax.matmul_integer"{{.*}}tensor<4096x16xi8>
func.func @others(%x: tensor<?x8x8x256xf32, #relax.dims<["n", 8, 8, 256]>>, %y: tensor<?x4096xui8, #relax.dims<["n", 4096]>>)
    -> (tensor<?x8x8x47xf32, #relax.dims<["n", 8, 8, 47]>>, tensor<?x15xi32, #relax.dims<["n", 15]>>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<1x1x256x47xf32>} : () -> tensor<1x1x256x47xf32>
  %v = "relax.constant"() {value = dense<3> : tensor<4096x15xi8>} : () -> tensor<4096x15xi8>
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<?x8x8x256xf32, #relax.dims<["n", 8, 8, 256]>>, tensor<1x1x256x47xf32>) -> tensor<?x8x8x47xf32, #relax.dims<["n", 8, 8, 47]>>
  %1 = "relax.matmul_integer"(%y, %v) : (tensor<?x4096xui8, #relax.dims<["n", 4096]>>, tensor<4096x15xi8>) -> tensor<?x15xi32, #relax.dims<["n", 15]>>
  return %0, %1 : tensor<?x8x8x47xf32, #relax.dims<["n", 8, 8, 47]>>, tensor<?x15xi32, #relax.dims<["n", 15]>>
}

// Not where little is saved: of a few rows, of short ones, of many columns; nor what is not constant.
// CHECK-LABEL: func.func @stay(
// CHECK-NOT: strided_slice
// CHECK: return
func.func @stay(%x: tensor<1x256xf32>, %y: tensor<64x16xf32>, %w: tensor<256x31xf32>, %z: tensor<64x256xf32>)
    -> (tensor<1x31xf32>, tensor<64x31xf32>, tensor<64x31xf32>, tensor<64x1023xf32>) {
  %a = "relax.constant"() {value = dense<0.5> : tensor<256x31xf32>} : () -> tensor<256x31xf32>
  %b = "relax.constant"() {value = dense<0.5> : tensor<16x31xf32>} : () -> tensor<16x31xf32>
  %c = "relax.constant"() {value = dense<0.5> : tensor<256x1023xf32>} : () -> tensor<256x1023xf32>
  %0 = "relax.matmul"(%x, %a) : (tensor<1x256xf32>, tensor<256x31xf32>) -> tensor<1x31xf32>
  %1 = "relax.matmul"(%y, %b) : (tensor<64x16xf32>, tensor<16x31xf32>) -> tensor<64x31xf32>
  %2 = "relax.matmul"(%z, %w) : (tensor<64x256xf32>, tensor<256x31xf32>) -> tensor<64x31xf32>
  %3 = "relax.matmul"(%z, %c) : (tensor<64x256xf32>, tensor<256x1023xf32>) -> tensor<64x1023xf32>
  return %0, %1, %2, %3 : tensor<1x31xf32>, tensor<64x31xf32>, tensor<64x31xf32>, tensor<64x1023xf32>
}

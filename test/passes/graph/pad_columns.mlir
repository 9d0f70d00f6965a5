// RUN: legato-opt %s --relax-pad-columns="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-pad-columns="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2
// RUN: legato-opt %s --relax-pad-columns="target=llvm{cpu=znver4}" | filecheck %s --check-prefix=PAIRS
// RUN: legato-opt %s --relax-pad-columns="target=llvm{cpu=znver4 matmul-precision=bf16}" | filecheck %s --check-prefix=ROUNDED


// 31 columns of vectors of 16 are 16 + 8 + 4 + 2 + 1; 21 are 16 + 4 + 1, and 24 16 + 8. One that is left is computed as one: 17.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[W:.*]] = "relax.constant"() {weight = {{.*}}} : () -> tensor<256x32xi8>
// CHECK: %[[Y:.*]] = "relax.matmul_integer"(%arg0, %[[W]])
// CHECK: "relax.strided_slice"(%[[Y]]) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[31]>{{.*}} -> tensor<64x31xi32>
// CHECK: "relax.matmul_integer"{{.*}}tensor<256x24xi8>
// CHECK: "relax.matmul_integer"{{.*}}tensor<256x17xi8>
// Of vectors of 8, 21 are two and 4 + 1, as long as three.
// AVX2-LABEL: func.func @columns(
// AVX2: "relax.matmul_integer"{{.*}}tensor<256x32xi8>
// AVX2: "relax.matmul_integer"{{.*}}tensor<256x21xi8>
func.func @columns(%x: tensor<64x256xui8>) -> (tensor<64x31xi32>, tensor<64x21xi32>, tensor<64x17xi32>) {
  %a = "relax.constant"() {value = dense<5> : tensor<256x31xi8>} : () -> tensor<256x31xi8>
  %b = "relax.constant"() {value = dense<5> : tensor<256x21xi8>} : () -> tensor<256x21xi8>
  %c = "relax.constant"() {value = dense<5> : tensor<256x17xi8>} : () -> tensor<256x17xi8>
  %0 = "relax.matmul_integer"(%x, %a) : (tensor<64x256xui8>, tensor<256x31xi8>) -> tensor<64x31xi32>
  %1 = "relax.matmul_integer"(%x, %b) : (tensor<64x256xui8>, tensor<256x21xi8>) -> tensor<64x21xi32>
  %2 = "relax.matmul_integer"(%x, %c) : (tensor<64x256xui8>, tensor<256x17xi8>) -> tensor<64x17xi32>
  return %0, %1, %2 : tensor<64x31xi32>, tensor<64x21xi32>, tensor<64x17xi32>
}

// So are filters of one element with features last, of bf16 where pairs are multiplied, and of f32 where these are rounded to bf16; rows may
// be known to the call only. Others are computed under masks.
// CHECK-LABEL: func.func @filters(
// CHECK-NOT: strided_slice
// PAIRS-LABEL: func.func @filters(
// PAIRS: "relax.conv2d"{{.*}}tensor<1x1x256x48xbf16>
// PAIRS: "relax.strided_slice"{{.*}} -> tensor<?x8x8x47xbf16
// PAIRS-NOT: strided_slice
// ROUNDED-LABEL: func.func @filters(
// ROUNDED-COUNT-2: "relax.strided_slice"
func.func @filters(%x: tensor<?x8x8x256xbf16, #relax.dims<["n", 8, 8, 256]>>, %y: tensor<64x256xf32>)
    -> (tensor<?x8x8x47xbf16, #relax.dims<["n", 8, 8, 47]>>, tensor<64x31xf32>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<1x1x256x47xbf16>} : () -> tensor<1x1x256x47xbf16>
  %v = "relax.constant"() {value = dense<0.5> : tensor<256x31xf32>} : () -> tensor<256x31xf32>
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<?x8x8x256xbf16, #relax.dims<["n", 8, 8, 256]>>, tensor<1x1x256x47xbf16>) -> tensor<?x8x8x47xbf16, #relax.dims<["n", 8, 8, 47]>>
  %1 = "relax.matmul"(%y, %v) : (tensor<64x256xf32>, tensor<256x31xf32>) -> tensor<64x31xf32>
  return %0, %1 : tensor<?x8x8x47xbf16, #relax.dims<["n", 8, 8, 47]>>, tensor<64x31xf32>
}

// Not where little is saved: of a few rows, of short ones, of many columns; nor what is not constant.
// CHECK-LABEL: func.func @stay(
// CHECK-NOT: strided_slice
// CHECK: return
func.func @stay(%x: tensor<1x256xui8>, %y: tensor<64x16xui8>, %w: tensor<256x31xi8>, %z: tensor<64x256xui8>)
    -> (tensor<1x31xi32>, tensor<64x31xi32>, tensor<64x31xi32>, tensor<64x1023xi32>) {
  %a = "relax.constant"() {value = dense<5> : tensor<256x31xi8>} : () -> tensor<256x31xi8>
  %b = "relax.constant"() {value = dense<5> : tensor<16x31xi8>} : () -> tensor<16x31xi8>
  %c = "relax.constant"() {value = dense<5> : tensor<256x1023xi8>} : () -> tensor<256x1023xi8>
  %0 = "relax.matmul_integer"(%x, %a) : (tensor<1x256xui8>, tensor<256x31xi8>) -> tensor<1x31xi32>
  %1 = "relax.matmul_integer"(%y, %b) : (tensor<64x16xui8>, tensor<16x31xi8>) -> tensor<64x31xi32>
  %2 = "relax.matmul_integer"(%z, %w) : (tensor<64x256xui8>, tensor<256x31xi8>) -> tensor<64x31xi32>
  %3 = "relax.matmul_integer"(%z, %c) : (tensor<64x256xui8>, tensor<256x1023xi8>) -> tensor<64x1023xi32>
  return %0, %1, %2, %3 : tensor<1x31xi32>, tensor<64x31xi32>, tensor<64x31xi32>, tensor<64x1023xi32>
}

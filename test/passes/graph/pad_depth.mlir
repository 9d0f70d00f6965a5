// RUN: legato-opt %s --relax-pad-depth="target=llvm{cpu=znver4}" | filecheck %s
// RUN: legato-opt %s --relax-pad-depth="target=llvm{cpu=znver4 matmul-precision=bf16}" | filecheck %s --check-prefix=ROUNDED
// RUN: legato-opt %s --relax-pad-depth="target=llvm{cpu=sapphirerapids}" | filecheck %s --check-prefix=MATRICES
// RUN: legato-opt %s --relax-pad-depth="target=llvm{cpu=x86-64-v4 matmul-precision=bf16}" | filecheck %s --check-prefix=NONE
// NONE-NOT: relax.pad

// A depth of 65 is 32 pairs and one more: both factors get a zero, also in front of filters of one element, and of rows that the call knows.
// CHECK-LABEL: func.func @products
// CHECK-DAG: %[[W:.*]] = "relax.constant"() {weight = {{.*}}} : () -> tensor<66x64xbf16>
// CHECK-DAG: %[[X:.*]] = "relax.pad"(%arg0) {{.*}}pads = array<i64: 0, 0, 0, 1>{{.*}} -> tensor<8x66xbf16>
// CHECK: "relax.matmul"(%[[X]], %[[W]])
// CHECK: %[[Y:.*]] = "relax.pad"(%arg1) {{.*}} -> tensor<?x8x8x66xbf16
// CHECK: "relax.conv2d"(%[[Y]], {{.*}}tensor<1x1x66x64xbf16>
// CHECK-NOT: relax.pad
// AMX: to three matrices of 16 pairs; convolutions pad their own copies of images.
// MATRICES-LABEL: func.func @products
// MATRICES: %[[X:.*]] = "relax.pad"(%arg0) {{.*}}pads = array<i64: 0, 0, 0, 31>{{.*}} -> tensor<8x96xbf16>
// MATRICES: "relax.matmul"(%[[X]], {{.*}}tensor<96x64xbf16>
// MATRICES-NOT: relax.pad
// ROUNDED-LABEL: func.func @products
// ROUNDED-COUNT-3: relax.pad
// ROUNDED-NOT: relax.pad
func.func @products(%x: tensor<8x65xbf16>, %y: tensor<?x8x8x65xbf16, #relax.dims<["n", 8, 8, 65]>>, %z: tensor<8x65xf32>)
    -> (tensor<8x64xbf16>, tensor<?x8x8x64xbf16, #relax.dims<["n", 8, 8, 64]>>, tensor<8x64xf32>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<65x64xbf16>} : () -> tensor<65x64xbf16>
  %f = "relax.constant"() {value = dense<0.5> : tensor<1x1x65x64xbf16>} : () -> tensor<1x1x65x64xbf16>
  %v = "relax.constant"() {value = dense<0.5> : tensor<65x64xf32>} : () -> tensor<65x64xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<8x65xbf16>, tensor<65x64xbf16>) -> tensor<8x64xbf16>
  %1 = "relax.conv2d"(%y, %f) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<?x8x8x65xbf16, #relax.dims<["n", 8, 8, 65]>>, tensor<1x1x65x64xbf16>) -> tensor<?x8x8x64xbf16, #relax.dims<["n", 8, 8, 64]>>
  %2 = "relax.matmul"(%z, %v) : (tensor<8x65xf32>, tensor<65x64xf32>) -> tensor<8x64xf32>
  return %0, %1, %2 : tensor<8x64xbf16>, tensor<?x8x8x64xbf16, #relax.dims<["n", 8, 8, 64]>>, tensor<8x64xf32>
}

// One row is padded to pairs, to matrices it is not.
// CHECK-LABEL: func.func @row
// CHECK: "relax.pad"(%arg0) {{.*}} -> tensor<1x66xbf16>
// ROUNDED-LABEL: func.func @row
// MATRICES-LABEL: func.func @row
// MATRICES-NOT: relax.pad
func.func @row(%x: tensor<1x65xbf16>) -> tensor<1x64xbf16> {
  %a = "relax.constant"() {value = dense<0.5> : tensor<65x64xbf16>} : () -> tensor<65x64xbf16>
  %0 = "relax.matmul"(%x, %a) : (tensor<1x65xbf16>, tensor<65x64xbf16>) -> tensor<1x64xbf16>
  return %0 : tensor<1x64xbf16>
}

// One row by a small matrix, few columns, an even depth, a factor that is no constant.
// CHECK-LABEL: func.func @others
// CHECK-NOT: relax.pad
// MATRICES-LABEL: func.func @others
// MATRICES-NOT: relax.pad
// ROUNDED-LABEL: func.func @others
// ROUNDED-NOT: relax.pad
func.func @others(%x: tensor<1x63xbf16>, %y: tensor<8x65xbf16>, %z: tensor<8x64xbf16>, %v: tensor<65x64xbf16>)
    -> (tensor<1x64xbf16>, tensor<8x8xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>) {
  %a = "relax.constant"() {value = dense<0.5> : tensor<63x64xbf16>} : () -> tensor<63x64xbf16>
  %b = "relax.constant"() {value = dense<0.5> : tensor<65x8xbf16>} : () -> tensor<65x8xbf16>
  %c = "relax.constant"() {value = dense<0.5> : tensor<64x64xbf16>} : () -> tensor<64x64xbf16>
  %0 = "relax.matmul"(%x, %a) : (tensor<1x63xbf16>, tensor<63x64xbf16>) -> tensor<1x64xbf16>
  %1 = "relax.matmul"(%y, %b) : (tensor<8x65xbf16>, tensor<65x8xbf16>) -> tensor<8x8xbf16>
  %2 = "relax.matmul"(%z, %c) : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %3 = "relax.matmul"(%y, %v) : (tensor<8x65xbf16>, tensor<65x64xbf16>) -> tensor<8x64xbf16>
  return %0, %1, %2, %3 : tensor<1x64xbf16>, tensor<8x8xbf16>, tensor<8x64xbf16>, tensor<8x64xbf16>
}

// AMX: pairs in a prime number are padded, but not for one row; those that a divisor of at least 4 takes in steps are not.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: relax.pad
// MATRICES-LABEL: func.func @pairs
// MATRICES: %[[X:.*]] = "relax.pad"(%arg0) {{.*}}pads = array<i64: 0, 0, 0, 6>{{.*}} -> tensor<9x128xbf16>
// MATRICES: "relax.matmul"(%[[X]], {{.*}}tensor<128x64xbf16>
// MATRICES-NOT: relax.pad
func.func @pairs(%x: tensor<9x122xbf16>, %y: tensor<1x122xbf16>, %z: tensor<9x120xbf16>) -> (tensor<9x64xbf16>, tensor<1x64xbf16>, tensor<9x64xbf16>) {
  %a = "relax.constant"() {value = dense<0.5> : tensor<122x64xbf16>} : () -> tensor<122x64xbf16>
  %b = "relax.constant"() {value = dense<0.5> : tensor<120x64xbf16>} : () -> tensor<120x64xbf16>
  %0 = "relax.matmul"(%x, %a) : (tensor<9x122xbf16>, tensor<122x64xbf16>) -> tensor<9x64xbf16>
  %1 = "relax.matmul"(%y, %a) : (tensor<1x122xbf16>, tensor<122x64xbf16>) -> tensor<1x64xbf16>
  %2 = "relax.matmul"(%z, %b) : (tensor<9x120xbf16>, tensor<120x64xbf16>) -> tensor<9x64xbf16>
  return %0, %1, %2 : tensor<9x64xbf16>, tensor<1x64xbf16>, tensor<9x64xbf16>
}

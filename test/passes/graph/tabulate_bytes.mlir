// RUN: legato-opt %s --relax-tabulate-bytes="target=llvm{cpu=znver4}" | filecheck %s
// RUN: legato-opt %s --relax-tabulate-bytes="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=NONE

// x * sigmoid(x) of bytes, with its factor quantized between, has one table: of signed bytes, by their bits.
// CHECK-LABEL: func.func @activation(
// CHECK-NEXT: %[[BITS:.*]] = "relax.bitcast"(%arg0) {dtype = ui8} : (tensor<64x64xi8>) -> tensor<64x64xui8>
// CHECK-NEXT: %[[TABLE:.*]] = "relax.constant"() {value = dense<"0x00010102{{.*}}"> : tensor<256xui8>}
// CHECK-NEXT: %[[FOUND:.*]] = "relax.take"(%[[TABLE]], %[[BITS]])
// CHECK-NEXT: return %[[FOUND]]
// NONE-LABEL: func.func @activation(
// NONE: "relax.take"
// NONE-NOT: relax.sigmoid
func.func @activation(%x: tensor<64x64xi8>) -> tensor<64x64xui8> {
  %scale = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %small = "relax.constant"() {value = dense<0.00390625> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<64x64xi8>) -> tensor<64x64xf32>
  %1 = "relax.multiply"(%0, %scale) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = "relax.sigmoid"(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "relax.divide"(%2, %small) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %4 = "relax.round"(%3) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "relax.clip"(%4) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "relax.astype"(%5) {dtype = ui8} : (tensor<64x64xf32>) -> tensor<64x64xui8>
  %7 = "relax.astype"(%6) {dtype = f32} : (tensor<64x64xui8>) -> tensor<64x64xf32>
  %8 = "relax.multiply"(%7, %small) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %9 = "relax.multiply"(%1, %8) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "relax.divide"(%9, %scale) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %11 = "relax.round"(%10) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %12 = "relax.clip"(%11) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "relax.astype"(%12) {dtype = ui8} : (tensor<64x64xf32>) -> tensor<64x64xui8>
  return %13 : tensor<64x64xui8>
}

// What only scales is looked up where an instruction does it and no kernel with other work has the bytes: not behind a product, nor for
// elementwise ops.
// CHECK-LABEL: func.func @scaled(
// CHECK: "relax.take"(%{{.*}}, %arg0) : (tensor<256xi8>, tensor<64x64xui8>) -> tensor<64x64xi8>
// CHECK: "relax.round"
// CHECK: "relax.round"
// CHECK-NOT: relax.take
// NONE-LABEL: func.func @scaled(
// NONE-NOT: relax.take
func.func @scaled(%x: tensor<64x64xui8>, %y: tensor<64x64xi8>) -> (tensor<64x64xi32>, tensor<64x64xi32>, tensor<64x64xi32>) {
  %scale = "relax.constant"() {value = dense<0.7> : tensor<f32>} : () -> tensor<f32>
  %w = "relax.constant"() {value = dense<3> : tensor<64x64xi8>} : () -> tensor<64x64xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<64x64xui8>) -> tensor<64x64xf32>
  %1 = "relax.multiply"(%0, %scale) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %2 = "relax.round"(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "relax.clip"(%2) {min = -128.0 : f64, max = 127.0 : f64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = "relax.astype"(%3) {dtype = i8} : (tensor<64x64xf32>) -> tensor<64x64xi8>
  %5 = "relax.matmul_integer"(%4, %w) : (tensor<64x64xi8>, tensor<64x64xi8>) -> tensor<64x64xi32>
  %6 = "relax.astype"(%5) {dtype = i8} : (tensor<64x64xi32>) -> tensor<64x64xi8>
  %7 = "relax.astype"(%6) {dtype = f32} : (tensor<64x64xi8>) -> tensor<64x64xf32>
  %8 = "relax.multiply"(%7, %scale) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %9 = "relax.round"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "relax.astype"(%9) {dtype = i8} : (tensor<64x64xf32>) -> tensor<64x64xi8>
  %11 = "relax.matmul_integer"(%10, %w) : (tensor<64x64xi8>, tensor<64x64xi8>) -> tensor<64x64xi32>
  %12 = "relax.astype"(%y) {dtype = f32} : (tensor<64x64xi8>) -> tensor<64x64xf32>
  %13 = "relax.multiply"(%12, %scale) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %14 = "relax.round"(%13) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %15 = "relax.astype"(%14) {dtype = i8} : (tensor<64x64xf32>) -> tensor<64x64xi8>
  %16 = "relax.astype"(%15) {dtype = i32} : (tensor<64x64xi8>) -> tensor<64x64xi32>
  return %5, %11, %16 : tensor<64x64xi32>, tensor<64x64xi32>, tensor<64x64xi32>
}

// x * relu(x), which vectors compute in less time than loads of single bytes take.
// CHECK-LABEL: func.func @joined(
// CHECK: "relax.take"
// NONE-LABEL: func.func @joined(
// NONE-NOT: relax.take
func.func @joined(%x: tensor<64x64xui8>) -> tensor<64x64xui8> {
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<64x64xui8>) -> tensor<64x64xf32>
  %1 = "relax.relu"(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "relax.multiply"(%0, %1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "relax.clip"(%2) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = "relax.astype"(%3) {dtype = ui8} : (tensor<64x64xf32>) -> tensor<64x64xui8>
  return %4 : tensor<64x64xui8>
}

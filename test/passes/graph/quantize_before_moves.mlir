// RUN: legato-opt %s --relax-quantize-before-moves | filecheck %s

// What is quantized as it was: its bytes are moved.
// CHECK-LABEL: func.func @dequantized(
// CHECK-NEXT: %[[TURNED:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 1, 0>} : (tensor<?x4xui8, #relax.dims<["n", 4]>>)
// CHECK-NEXT: %[[ROWS:.*]] = "relax.reshape"(%[[TURNED]])
// CHECK-NEXT: %[[PART:.*]] = "relax.strided_slice"(%[[ROWS]])
// CHECK-NEXT: %[[RESULT:.*]] = "relax.reshape"(%[[PART]])
// CHECK-NEXT: return %[[RESULT]]
func.func @dequantized(%x: tensor<?x4xui8, #relax.dims<["n", 4]>>) -> tensor<2x?xui8, #relax.dims<[2, "n"]>> {
  %scale = "relax.constant"() {value = dense<0.03> : tensor<f32>} : () -> tensor<f32>
  %zero = "relax.constant"() {value = dense<7> : tensor<ui8>} : () -> tensor<ui8>
  %wide = "relax.astype"(%zero) {dtype = i32} : (tensor<ui8>) -> tensor<i32>
  %point = "relax.astype"(%zero) {dtype = f32} : (tensor<ui8>) -> tensor<f32>
  %0 = "relax.astype"(%x) {dtype = i32} : (tensor<?x4xui8, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  %1 = "relax.subtract"(%0, %wide) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<i32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  %2 = "relax.astype"(%1) {dtype = f32} : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %3 = "relax.multiply"(%2, %scale) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<f32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %4 = "relax.permute_dims"(%3) {axes = array<i64: 1, 0>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<4x?xf32, #relax.dims<[4, "n"]>>
  %5 = "relax.reshape"(%4) {shape = #relax.dims<[2, 2, "n"]>} : (tensor<4x?xf32, #relax.dims<[4, "n"]>>) -> tensor<2x2x?xf32, #relax.dims<[2, 2, "n"]>>
  %6 = "relax.strided_slice"(%5) {axes = array<i64: 1>, begin = #relax.dims<[1]>, end = #relax.dims<[2]>} : (tensor<2x2x?xf32, #relax.dims<[2, 2, "n"]>>) -> tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>
  %7 = "relax.divide"(%6, %scale) : (tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>, tensor<f32>) -> tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>
  %8 = "relax.round"(%7) : (tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>) -> tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>
  %9 = "relax.add"(%8, %point) : (tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>, tensor<f32>) -> tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>
  %10 = "relax.clip"(%9) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>) -> tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>
  %11 = "relax.astype"(%10) {dtype = ui8} : (tensor<2x1x?xf32, #relax.dims<[2, 1, "n"]>>) -> tensor<2x1x?xui8, #relax.dims<[2, 1, "n"]>>
  %12 = "relax.reshape"(%11) {shape = #relax.dims<[2, "n"]>} : (tensor<2x1x?xui8, #relax.dims<[2, 1, "n"]>>) -> tensor<2x?xui8, #relax.dims<[2, "n"]>>
  return %12 : tensor<2x?xui8, #relax.dims<[2, "n"]>>
}

// Floats are quantized before they are joined and turned; what was quantized so already is joined as it is. A pad of 0 is one of the zero
// point, and the greatest element that of the bytes.
// CHECK-LABEL: func.func @joined(
// CHECK: %[[BYTES:.*]] = "relax.astype"(%{{.*}}) {dtype = i8} : (tensor<1x2x4xf32>) -> tensor<1x2x4xi8>
// CHECK: %[[ALL:.*]] = tensor.concat dim(1) %[[BYTES]], %arg1 : (tensor<1x2x4xi8>, tensor<1x2x4xi8>) -> tensor<1x4x4xi8>
// CHECK: %[[PADDED:.*]] = "relax.pad"(%[[ALL]]) {{.*}}value = -5.000000e+00 : f64} : (tensor<1x4x4xi8>) -> tensor<1x4x6xi8>
// CHECK: %[[GREATEST:.*]] = "relax.max_pool1d"(%[[PADDED]]) {{.*}} -> tensor<1x4x5xi8>
// CHECK: return %[[ALL]], %[[GREATEST]]
func.func @joined(%x: tensor<1x2x4xf32>, %y: tensor<1x2x4xi8>) -> (tensor<1x4x4xi8>, tensor<1x4x5xi8>) {
  %scale = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %five = "relax.constant"() {value = dense<-5> : tensor<i32>} : () -> tensor<i32>
  %point = "relax.constant"() {value = dense<-5.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.astype"(%y) {dtype = i32} : (tensor<1x2x4xi8>) -> tensor<1x2x4xi32>
  %1 = "relax.subtract"(%0, %five) : (tensor<1x2x4xi32>, tensor<i32>) -> tensor<1x2x4xi32>
  %2 = "relax.astype"(%1) {dtype = f32} : (tensor<1x2x4xi32>) -> tensor<1x2x4xf32>
  %3 = "relax.multiply"(%2, %scale) : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
  %4 = tensor.concat dim(1) %x, %3 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<1x4x4xf32>
  %5 = "relax.divide"(%4, %scale) : (tensor<1x4x4xf32>, tensor<f32>) -> tensor<1x4x4xf32>
  %6 = "relax.round"(%5) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %7 = "relax.add"(%6, %point) : (tensor<1x4x4xf32>, tensor<f32>) -> tensor<1x4x4xf32>
  %8 = "relax.clip"(%7) {min = -128.0 : f64, max = 127.0 : f64} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %9 = "relax.astype"(%8) {dtype = i8} : (tensor<1x4x4xf32>) -> tensor<1x4x4xi8>
  %10 = "relax.astype"(%9) {dtype = i32} : (tensor<1x4x4xi8>) -> tensor<1x4x4xi32>
  %11 = "relax.subtract"(%10, %five) : (tensor<1x4x4xi32>, tensor<i32>) -> tensor<1x4x4xi32>
  %12 = "relax.astype"(%11) {dtype = f32} : (tensor<1x4x4xi32>) -> tensor<1x4x4xf32>
  %13 = "relax.multiply"(%12, %scale) : (tensor<1x4x4xf32>, tensor<f32>) -> tensor<1x4x4xf32>
  %14 = "relax.pad"(%13) {pads = array<i64: 0, 0, 1, 0, 0, 1>} : (tensor<1x4x4xf32>) -> tensor<1x4x6xf32>
  %15 = "relax.max_pool1d"(%14) {kernel = array<i64: 2>} : (tensor<1x4x6xf32>) -> tensor<1x4x5xf32>
  %16 = "relax.divide"(%15, %scale) : (tensor<1x4x5xf32>, tensor<f32>) -> tensor<1x4x5xf32>
  %17 = "relax.round"(%16) : (tensor<1x4x5xf32>) -> tensor<1x4x5xf32>
  %18 = "relax.add"(%17, %point) : (tensor<1x4x5xf32>, tensor<f32>) -> tensor<1x4x5xf32>
  %19 = "relax.clip"(%18) {min = -128.0 : f64, max = 127.0 : f64} : (tensor<1x4x5xf32>) -> tensor<1x4x5xf32>
  %20 = "relax.astype"(%19) {dtype = i8} : (tensor<1x4x5xf32>) -> tensor<1x4x5xi8>
  return %9, %20 : tensor<1x4x4xi8>, tensor<1x4x5xi8>
}

// A slice in another scale stays: not all of what is sliced would be quantized for it. So does a move whose floats are used otherwise.
// CHECK-LABEL: func.func @others(
// CHECK: "relax.strided_slice"(%{{.*}}) {{.*}} : (tensor<8xf32>)
// CHECK: "relax.permute_dims"(%{{.*}}) {{.*}} : (tensor<2x8xf32>)
func.func @others(%x: tensor<8xf32>, %y: tensor<2x8xf32>) -> (tensor<2xui8>, tensor<8x2xui8>, tensor<8x2xf32>) {
  %scale = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.strided_slice"(%x) {axes = array<i64: 0>, begin = #relax.dims<[1]>, end = #relax.dims<[3]>} : (tensor<8xf32>) -> tensor<2xf32>
  %1 = "relax.divide"(%0, %scale) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = "relax.round"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "relax.clip"(%2) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %4 = "relax.astype"(%3) {dtype = ui8} : (tensor<2xf32>) -> tensor<2xui8>
  %5 = "relax.permute_dims"(%y) {axes = array<i64: 1, 0>} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %6 = "relax.divide"(%5, %scale) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xf32>
  %7 = "relax.round"(%6) : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %8 = "relax.clip"(%7) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %9 = "relax.astype"(%8) {dtype = ui8} : (tensor<8x2xf32>) -> tensor<8x2xui8>
  return %4, %9, %5 : tensor<2xui8>, tensor<8x2xui8>, tensor<8x2xf32>
}

// A chain of rolls, whose parts are of the same value, has one move of bytes for each of its ops.
// CHECK-LABEL: func.func @rolls(
// CHECK-COUNT-4: "relax.strided_slice"({{.*}} -> tensor<4x{{[0-9]+}}xui8>
// CHECK-NOT: relax.strided_slice
// CHECK: return
func.func @rolls(%x: tensor<4x8xui8>) -> tensor<4x8xui8> {
  %scale = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<4x8xui8>) -> tensor<4x8xf32>
  %1 = "relax.multiply"(%0, %scale) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = "relax.strided_slice"(%1) {axes = array<i64: 1>, begin = #relax.dims<[1]>, end = #relax.dims<[8]>} : (tensor<4x8xf32>) -> tensor<4x7xf32>
  %3 = "relax.strided_slice"(%1) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[1]>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = tensor.concat dim(1) %2, %3 : (tensor<4x7xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %5 = "relax.strided_slice"(%4) {axes = array<i64: 1>, begin = #relax.dims<[1]>, end = #relax.dims<[8]>} : (tensor<4x8xf32>) -> tensor<4x7xf32>
  %6 = "relax.strided_slice"(%4) {axes = array<i64: 1>, begin = #relax.dims<[0]>, end = #relax.dims<[1]>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %7 = tensor.concat dim(1) %5, %6 : (tensor<4x7xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %8 = "relax.divide"(%7, %scale) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %9 = "relax.round"(%8) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = "relax.clip"(%9) {min = 0.0 : f64, max = 255.0 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = "relax.astype"(%10) {dtype = ui8} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  return %11 : tensor<4x8xui8>
}

// RUN: legato-opt %s --relax-integer-contractions="target=llvm{cpu=znver4}" | filecheck %s
// RUN: legato-opt %s --relax-integer-contractions="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=SHORTS
// RUN: legato-opt %s --relax-integer-contractions="target=llvm{cpu=cascadelake}" | filecheck %s --check-prefix=FEW

// Without an instruction for bytes both factors are widened, whatever their signs; a product of few rows reads bytes.
// SHORTS-LABEL: func.func @dequantized(
// SHORTS: %[[X:.*]] = "relax.astype"(%arg0) {dtype = i16}
// SHORTS: %[[W:.*]] = "relax.constant"() {value = dense<{{\[}}[1, -2], [3, 4]]> : tensor<2x2xi16>}
// SHORTS: "relax.matmul_integer"(%[[X]], %[[W]])
// SHORTS: "relax.constant"() {value = dense<[40, 20]> : tensor<2xi32>}
// SHORTS-LABEL: func.func @convolution(
// SHORTS: %[[X:.*]] = "relax.astype"(%arg0) {dtype = i16} : (tensor<1x1x3x3xi8>)
// SHORTS: %[[PADDED:.*]] = "relax.pad"(%[[X]]) {{.*}}value = -3.000000e+00 : f64}
// SHORTS: "relax.conv2d_integer"(%[[PADDED]], %{{.*}}) {of_bytes = true} : (tensor<1x1x5x5xi16>, tensor<1x1x2x2xi16>) -> tensor<1x1x4x4xi32>

// A dequantized input and weight: bytes are summed, less the zero point times the weight's columns, and scaled once.
// CHECK-LABEL: func.func @dequantized(
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{\[}}[1, -2], [3, 4]]> : tensor<2x2xi8>}
// CHECK: %[[SUMS:.*]] = "relax.matmul_integer"(%arg0, %[[W]]) : (tensor<?x2xui8, {{.*}}>, tensor<2x2xi8>)
// CHECK: %[[OF_ZERO:.*]] = "relax.constant"() {value = dense<[40, 20]> : tensor<2xi32>}
// CHECK: %[[LESS:.*]] = "relax.subtract"(%[[SUMS]], %[[OF_ZERO]])
// CHECK: %[[FLOAT:.*]] = "relax.astype"(%[[LESS]]) {dtype = f32}
// CHECK: %[[SCALE:.*]] = "relax.constant"() {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
// CHECK: "relax.multiply"(%[[FLOAT]], %[[SCALE]])
func.func @dequantized(%x: tensor<?x2xui8, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>> {
  %zero = "relax.constant"() {value = dense<10> : tensor<i32>} : () -> tensor<i32>
  %sx = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %sw = "relax.constant"() {value = dense<[2.0, 4.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %w = "relax.constant"() {value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %0 = "relax.astype"(%x) {dtype = i32} : (tensor<?x2xui8, #relax.dims<["n", 2]>>) -> tensor<?x2xi32, #relax.dims<["n", 2]>>
  %1 = "relax.subtract"(%0, %zero) : (tensor<?x2xi32, #relax.dims<["n", 2]>>, tensor<i32>) -> tensor<?x2xi32, #relax.dims<["n", 2]>>
  %2 = "relax.astype"(%1) {dtype = f32} : (tensor<?x2xi32, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %3 = "relax.multiply"(%2, %sx) : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<f32>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  %4 = "relax.astype"(%w) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %5 = "relax.multiply"(%4, %sw) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %6 = "relax.matmul"(%3, %5) : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<2x2xf32>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  return %6 : tensor<?x2xf32, #relax.dims<["n", 2]>>
}

// The padding of a convolution is the zero point. Signed bytes are raised by 128.
// CHECK-LABEL: func.func @convolution(
// CHECK: %[[RAISED:.*]] = "relax.astype"(%{{.*}}) {dtype = ui8} : (tensor<1x1x3x3xi32>)
// CHECK: %[[PADDED:.*]] = "relax.pad"(%[[RAISED]]) {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>, value = 1.250000e+02 : f64}
// CHECK: "relax.conv2d_integer"(%[[PADDED]], %{{.*}}) : (tensor<1x1x5x5xui8>, tensor<1x1x2x2xi8>) -> tensor<1x1x4x4xi32>
func.func @convolution(%x: tensor<1x1x3x3xi8>) -> tensor<1x1x4x4xf32> {
  %zero = "relax.constant"() {value = dense<-3.0> : tensor<f32>} : () -> tensor<f32>
  %w = "relax.constant"() {value = dense<1> : tensor<1x1x2x2xi8>} : () -> tensor<1x1x2x2xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<1x1x3x3xi8>) -> tensor<1x1x3x3xf32>
  %1 = "relax.subtract"(%0, %zero) : (tensor<1x1x3x3xf32>, tensor<f32>) -> tensor<1x1x3x3xf32>
  %2 = "relax.astype"(%w) {dtype = f32} : (tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xf32>
  %3 = "relax.conv2d"(%1, %2) {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  return %3 : tensor<1x1x4x4xf32>
}

// A scale that varies along the reduction, and a weight that is not constant, stay.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: relax.matmul_integer
// CHECK: return
func.func @others(%x: tensor<2x2xui8>, %v: tensor<2x2xi8>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %sw = "relax.constant"() {value = dense<[[2.0], [4.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %w = "relax.constant"() {value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<2x2xui8>) -> tensor<2x2xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %2 = "relax.multiply"(%1, %sw) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %3 = "relax.matmul"(%0, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = "relax.astype"(%v) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %5 = "relax.matmul"(%0, %4) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %3, %5 : tensor<2x2xf32>, tensor<2x2xf32>
}

// What else reads a value that is widened reads the 16 bits, so that they alone are stored.
// SHORTS-LABEL: func.func @residual(
// SHORTS: %[[X:.*]] = "relax.astype"(%arg0) {dtype = i16} : (tensor<5x2xi8>)
// SHORTS: "relax.astype"(%[[X]]) {dtype = f32}
// SHORTS: "relax.matmul_integer"(%[[X]], %{{.*}})
func.func @residual(%x: tensor<5x2xi8>) -> tensor<5x2xf32> {
  %w = "relax.constant"() {value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<5x2xi8>) -> tensor<5x2xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %2 = "relax.matmul"(%0, %1) : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  %3 = "relax.exp"(%0) : (tensor<5x2xf32>) -> tensor<5x2xf32>
  %4 = "relax.add"(%2, %3) : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  return %4 : tensor<5x2xf32>
}

// SHORTS-LABEL: func.func @row(
// SHORTS: "relax.matmul_integer"(%arg0, %{{.*}}) : (tensor<1x2xui8>, tensor<2x2xi8>)
func.func @row(%x: tensor<1x2xui8>) -> tensor<1x2xf32> {
  %w = "relax.constant"() {value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<1x2xui8>) -> tensor<1x2xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %2 = "relax.matmul"(%0, %1) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}

// Convolutions of one dimension are those of images of one row, and of three those of images whose channels are the slices of a window.
// CHECK-LABEL: func.func @other_dimensions(
// CHECK: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {dilations = array<i64: 1, 2>, strides = array<i64: 1, 3>} : (tensor<1x4x1x11xui8>, tensor<8x4x1x3xi8>)
// CHECK: "relax.reshape"{{.*}} -> tensor<1x8x3xi32>
// CHECK: "relax.pad"(%arg1) {pads = array<i64: 0, 0, 1, 1, 1, 0, 0, 1, 1, 1>}
// CHECK: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {data_layout = "NHWC", strides = array<i64: 2, 2>} : (tensor<2x6x6x12xui8>, tensor<8x12x3x3xi8>)
// CHECK: "relax.permute_dims"{{.*}} -> tensor<1x8x2x2x2xi32>
// Without an instruction for bytes, windows of 3 x 3 x 3 without steps stay where channels and features fill vectors of floats, and channels
// none of integers: Winograd's algorithm is faster.
// SHORTS-LABEL: func.func @other_dimensions(
// SHORTS-COUNT-2: "relax.conv2d_integer"
// SHORTS-LABEL: func.func @volume(
// SHORTS: "relax.conv3d"
// SHORTS-LABEL: func.func @whole_volume(
// SHORTS: "relax.conv2d_integer"
// SHORTS-LABEL: func.func @few_features(
// SHORTS: "relax.conv2d_integer"
// CHECK-LABEL: func.func @volume(
// CHECK: "relax.conv2d_integer"
func.func @other_dimensions(%x: tensor<1x4x11xui8>, %y: tensor<1x4x4x4x4xui8>) -> (tensor<1x8x3xf32>, tensor<1x8x2x2x2xf32>) {
  %v = "relax.constant"() {value = dense<1> : tensor<8x4x3xi8>} : () -> tensor<8x4x3xi8>
  %w = "relax.constant"() {value = dense<1> : tensor<8x4x3x3x3xi8>} : () -> tensor<8x4x3x3x3xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<1x4x11xui8>) -> tensor<1x4x11xf32>
  %1 = "relax.astype"(%v) {dtype = f32} : (tensor<8x4x3xi8>) -> tensor<8x4x3xf32>
  %2 = "relax.conv1d"(%0, %1) {strides = array<i64: 3>, dilations = array<i64: 2>} : (tensor<1x4x11xf32>, tensor<8x4x3xf32>) -> tensor<1x8x3xf32>
  %3 = "relax.astype"(%y) {dtype = f32} : (tensor<1x4x4x4x4xui8>) -> tensor<1x4x4x4x4xf32>
  %4 = "relax.astype"(%w) {dtype = f32} : (tensor<8x4x3x3x3xi8>) -> tensor<8x4x3x3x3xf32>
  %5 = "relax.conv3d"(%3, %4) {strides = array<i64: 2, 2, 2>, padding = array<i64: 1, 1, 1, 1, 1, 1>} : (tensor<1x4x4x4x4xf32>, tensor<8x4x3x3x3xf32>) -> tensor<1x8x2x2x2xf32>
  return %2, %5 : tensor<1x8x3xf32>, tensor<1x8x2x2x2xf32>
}

func.func @volume(%y: tensor<1x24x4x4x4xui8>) -> tensor<1x16x2x2x2xf32> {
  %w = "relax.constant"() {value = dense<1> : tensor<16x24x3x3x3xi8>} : () -> tensor<16x24x3x3x3xi8>
  %0 = "relax.astype"(%y) {dtype = f32} : (tensor<1x24x4x4x4xui8>) -> tensor<1x24x4x4x4xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<16x24x3x3x3xi8>) -> tensor<16x24x3x3x3xf32>
  %2 = "relax.conv3d"(%0, %1) : (tensor<1x24x4x4x4xf32>, tensor<16x24x3x3x3xf32>) -> tensor<1x16x2x2x2xf32>
  return %2 : tensor<1x16x2x2x2xf32>
}

func.func @whole_volume(%y: tensor<1x16x4x4x4xui8>) -> tensor<1x16x2x2x2xf32> {
  %w = "relax.constant"() {value = dense<1> : tensor<16x16x3x3x3xi8>} : () -> tensor<16x16x3x3x3xi8>
  %0 = "relax.astype"(%y) {dtype = f32} : (tensor<1x16x4x4x4xui8>) -> tensor<1x16x4x4x4xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<16x16x3x3x3xi8>) -> tensor<16x16x3x3x3xf32>
  %2 = "relax.conv3d"(%0, %1) : (tensor<1x16x4x4x4xf32>, tensor<16x16x3x3x3xf32>) -> tensor<1x16x2x2x2xf32>
  return %2 : tensor<1x16x2x2x2xf32>
}

func.func @few_features(%y: tensor<1x4x4x4x4xui8>) -> tensor<1x8x2x2x2xf32> {
  %w = "relax.constant"() {value = dense<1> : tensor<8x4x3x3x3xi8>} : () -> tensor<8x4x3x3x3xi8>
  %0 = "relax.astype"(%y) {dtype = f32} : (tensor<1x4x4x4x4xui8>) -> tensor<1x4x4x4x4xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<8x4x3x3x3xi8>) -> tensor<8x4x3x3x3xf32>
  %2 = "relax.conv3d"(%0, %1) : (tensor<1x4x4x4x4xf32>, tensor<8x4x3x3x3xf32>) -> tensor<1x8x2x2x2xf32>
  return %2 : tensor<1x8x2x2x2xf32>
}

// What else reads signed bytes that are raised by 128 reads the unsigned ones, too, less a zero point that is greater by 128.
// CHECK-LABEL: func.func @read_twice(
// CHECK: %[[BYTES:.*]] = "relax.astype"(%arg0) {dtype = i8}
// CHECK: %[[RAISED:.*]] = "relax.astype"(%{{.*}}) {dtype = ui8}
// CHECK-NOT: "relax.astype"(%[[BYTES]])
// CHECK: "relax.matmul_integer"(%[[RAISED]],
// CHECK: %[[WIDE:.*]] = "relax.astype"(%[[RAISED]]) {dtype = i32}
// CHECK: %[[ZERO:.*]] = "relax.constant"() {value = dense<121> : tensor<i32>}
// CHECK: "relax.subtract"(%[[WIDE]], %[[ZERO]])
// CHECK: %[[WIDE:.*]] = "relax.astype"(%[[RAISED]]) {dtype = i32}
// CHECK: %[[SHIFT:.*]] = "relax.constant"() {value = dense<128> : tensor<i32>}
// CHECK: %[[LESS:.*]] = "relax.subtract"(%[[WIDE]], %[[SHIFT]])
// CHECK: "relax.astype"(%[[LESS]]) {dtype = f32}
func.func @read_twice(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x2xf32>) {
  %w = "relax.constant"() {value = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>} : () -> tensor<2x2xi8>
  %zero = "relax.constant"() {value = dense<-7> : tensor<i32>} : () -> tensor<i32>
  %bytes = "relax.astype"(%x) {dtype = i8} : (tensor<2x2xf32>) -> tensor<2x2xi8>
  %0 = "relax.astype"(%bytes) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %2 = "relax.matmul"(%0, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = "relax.astype"(%bytes) {dtype = i32} : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %4 = "relax.subtract"(%3, %zero) : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  %5 = "relax.astype"(%bytes) {dtype = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  return %2, %4, %5 : tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x2xf32>
}

// On GPUs the depth is the last axis of both factors; what else reads raised bytes reads them, and a launch pads the image that it multiplies.
// RUN: legato-opt %s --relax-integer-contractions="target=nvvm" | filecheck %s --check-prefix=GPU
// RUN: legato-opt %s --relax-integer-contractions="target=nvvm{chip=sm_60}" | filecheck %s --check-prefix=OLD
// OLD-NOT: _integer
// Matrices of a device may be of signed bytes only.
// RUN: legato-opt %s --relax-integer-contractions="target=vulkan{matrices=m16n16k32_s8_i32}" | filecheck %s --check-prefix=SIGNED
// SIGNED-LABEL: func.func @dequantized(
// SIGNED: %[[LOWERED:.*]] = "relax.astype"(%{{.*}}) {dtype = i8} : (tensor<?x2xi32
// SIGNED: "relax.matmul_integer"(%[[LOWERED]], %{{.*}}) {kernel_layout = "OI"}
// SIGNED: "relax.constant"() {value = dense<[-472, -236]> : tensor<2xi32>}
// SIGNED-LABEL: func.func @convolution(
// SIGNED: "relax.conv2d_integer"(%arg0, %{{.*}}) {pad_value = -3 : i64
// GPU-LABEL: func.func @convolution(
// GPU: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {pad_value = 125 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x1x3x3xui8>, tensor<1x1x2x2xi8>)
// GPU-LABEL: func.func @row(
// GPU: %[[W:.*]] = "relax.constant"() {value = dense<{{\[}}[1, 3], [-2, 4]]> : tensor<2x2xi8>}
// GPU: "relax.matmul_integer"(%arg0, %[[W]]) {kernel_layout = "OI"}
// GPU-LABEL: func.func @other_dimensions(
// GPU: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {dilations = array<i64: 1, 2>, strides = array<i64: 1, 3>} : (tensor<1x4x1x11xui8>, tensor<8x4x1x3xi8>)

// Groups of filters are summed as integers on GPUs, and on CPUs where a group's channels fill a lane.
// GPU-LABEL: func.func @groups(
// GPU: "relax.conv2d_integer"(%arg0, %{{.*}}) {groups = 2 : i64} : (tensor<1x4x3x3xui8>, tensor<8x2x2x2xi8>)
// GPU: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {groups = 4 : i64} : (tensor<1x4x1x9xui8>, tensor<4x1x1x2xi8>)
// CHECK-LABEL: func.func @groups(
// CHECK-NOT: _integer
func.func @groups(%x: tensor<1x4x3x3xui8>, %y: tensor<1x4x9xui8>) -> (tensor<1x8x2x2xf32>, tensor<1x4x8xf32>) {
  %w = "relax.constant"() {value = dense<1> : tensor<8x2x2x2xi8>} : () -> tensor<8x2x2x2xi8>
  %v = "relax.constant"() {value = dense<1> : tensor<4x1x2xi8>} : () -> tensor<4x1x2xi8>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<1x4x3x3xui8>) -> tensor<1x4x3x3xf32>
  %1 = "relax.astype"(%w) {dtype = f32} : (tensor<8x2x2x2xi8>) -> tensor<8x2x2x2xf32>
  %2 = "relax.conv2d"(%0, %1) {groups = 2 : i64} : (tensor<1x4x3x3xf32>, tensor<8x2x2x2xf32>) -> tensor<1x8x2x2xf32>
  %3 = "relax.astype"(%y) {dtype = f32} : (tensor<1x4x9xui8>) -> tensor<1x4x9xf32>
  %4 = "relax.astype"(%v) {dtype = f32} : (tensor<4x1x2xi8>) -> tensor<4x1x2xf32>
  %5 = "relax.conv1d"(%3, %4) {groups = 4 : i64} : (tensor<1x4x9xf32>, tensor<4x1x2xf32>) -> tensor<1x4x8xf32>
  return %2, %5 : tensor<1x8x2x2xf32>, tensor<1x4x8xf32>
}

// Images are padded by bytes; the taps of a volume's groups are put together. Narrow groups whose channels fill no whole lanes stay in
// floats where no instruction shuffles bytes; windows of one element do.
// CHECK-LABEL: func.func @groups_of_lanes(
// CHECK: %[[PADDED:.*]] = "relax.pad"(%arg0) {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>, value = 5.000000e+00 : f64} : (tensor<?x20x3x3xui8
// CHECK: "relax.conv2d_integer"(%[[PADDED]], %{{.*}}) {groups = 4 : i64} : (tensor<?x20x5x5xui8, {{.*}}>, tensor<8x5x2x2xi8>) -> tensor<?x8x4x4xi32
// CHECK: "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 1, 2, 4, 3, 5>} : (tensor<2x3x3x2x2x8xui8>) -> tensor<2x3x3x2x2x8xui8>
// CHECK: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {data_layout = "NHWC", groups = 2 : i64} : (tensor<2x3x3x32xui8>, tensor<8x16x2x2xi8>)
// CHECK: "relax.conv2d"
// SHORTS-LABEL: func.func @groups_of_lanes(
// SHORTS: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {groups = 4 : i64, of_bytes = true} : (tensor<?x20x5x5xi16
// FEW-LABEL: func.func @groups_of_lanes(
// FEW: "relax.conv2d"(%{{.*}}, %{{.*}}) {groups = 4
func.func @groups_of_lanes(%x: tensor<?x20x3x3xui8, #relax.dims<["n", 20, 3, 3]>>, %y: tensor<1x16x3x3x3xui8>, %z: tensor<1x16x3x3xui8>)
    -> (tensor<?x8x4x4xf32, #relax.dims<["n", 8, 4, 4]>>, tensor<1x8x2x2x2xf32>, tensor<1x8x3x3xf32>) {
  %w = "relax.constant"() {value = dense<1> : tensor<8x5x2x2xi8>} : () -> tensor<8x5x2x2xi8>
  %v = "relax.constant"() {value = dense<1> : tensor<8x8x2x2x2xi8>} : () -> tensor<8x8x2x2x2xi8>
  %u = "relax.constant"() {value = dense<1> : tensor<8x8x1x1xi8>} : () -> tensor<8x8x1x1xi8>
  %zero = "relax.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
  %0 = "relax.astype"(%x) {dtype = i32} : (tensor<?x20x3x3xui8, #relax.dims<["n", 20, 3, 3]>>) -> tensor<?x20x3x3xi32, #relax.dims<["n", 20, 3, 3]>>
  %1 = "relax.subtract"(%0, %zero) : (tensor<?x20x3x3xi32, #relax.dims<["n", 20, 3, 3]>>, tensor<i32>) -> tensor<?x20x3x3xi32, #relax.dims<["n", 20, 3, 3]>>
  %2 = "relax.astype"(%1) {dtype = f32} : (tensor<?x20x3x3xi32, #relax.dims<["n", 20, 3, 3]>>) -> tensor<?x20x3x3xf32, #relax.dims<["n", 20, 3, 3]>>
  %3 = "relax.astype"(%w) {dtype = f32} : (tensor<8x5x2x2xi8>) -> tensor<8x5x2x2xf32>
  %4 = "relax.conv2d"(%2, %3) {groups = 4 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<?x20x3x3xf32, #relax.dims<["n", 20, 3, 3]>>, tensor<8x5x2x2xf32>) -> tensor<?x8x4x4xf32, #relax.dims<["n", 8, 4, 4]>>
  %5 = "relax.astype"(%y) {dtype = f32} : (tensor<1x16x3x3x3xui8>) -> tensor<1x16x3x3x3xf32>
  %6 = "relax.astype"(%v) {dtype = f32} : (tensor<8x8x2x2x2xi8>) -> tensor<8x8x2x2x2xf32>
  %7 = "relax.conv3d"(%5, %6) {groups = 2 : i64} : (tensor<1x16x3x3x3xf32>, tensor<8x8x2x2x2xf32>) -> tensor<1x8x2x2x2xf32>
  %8 = "relax.astype"(%z) {dtype = f32} : (tensor<1x16x3x3xui8>) -> tensor<1x16x3x3xf32>
  %9 = "relax.astype"(%u) {dtype = f32} : (tensor<8x8x1x1xi8>) -> tensor<8x8x1x1xf32>
  %10 = "relax.conv2d"(%8, %9) {groups = 2 : i64} : (tensor<1x16x3x3xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x3x3xf32>
  return %4, %7, %10 : tensor<?x8x4x4xf32, #relax.dims<["n", 8, 4, 4]>>, tensor<1x8x2x2x2xf32>, tensor<1x8x3x3xf32>
}

// Products of two values that are not constant: the zero point of the left one needs sums of the right one's columns. Bytes whose
// zero point is -128 become unsigned, and need none. An attention whose weights are not quantized stays in floats.
// GPU-LABEL: func.func @pairs(
// GPU: %[[RAISED:.*]] = "relax.astype"({{.*}}) {dtype = ui8} : (tensor<2x9x16xi32>)
// GPU: %[[TURNED:.*]] = "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 2, 1>} : (tensor<2x16x12xi8>)
// GPU: %[[SUMS:.*]] = "relax.matmul_integer"(%arg0, %[[TURNED]]) {kernel_layout = "OI"} : (tensor<2x9x16xui8>, tensor<2x12x16xi8>) -> tensor<2x9x12xi32>
// GPU: %[[WIDE:.*]] = "relax.astype"(%[[TURNED]]) {dtype = i32}
// GPU: %[[COLUMNS:.*]] = "relax.sum"(%[[WIDE]]) {axis = array<i64: -1>} : (tensor<2x12x16xi32>)
// GPU: %[[TIMES:.*]] = "relax.multiply"(%[[COLUMNS]],
// GPU: %[[OF_ZERO:.*]] = "relax.reshape"(%[[TIMES]]) {{.*}} -> tensor<2x1x12xi32>
// GPU: "relax.subtract"(%[[SUMS]], %[[OF_ZERO]])
// GPU: "relax.matmul_integer"(%[[RAISED]], %arg2) : (tensor<2x9x16xui8>, tensor<2x16x12xi8>)
// GPU-NOT: relax.sum
// GPU: return
// GPU-LABEL: func.func @float_weights(
// GPU-NOT: _integer
// GPU: return
// On CPUs one factor is unsigned and the other signed, or both are widened, less their zero points; of whole lanes.
// CHECK-LABEL: func.func @pairs(
// CHECK: %[[RAISED:.*]] = "relax.astype"({{.*}}) {dtype = ui8} : (tensor<2x9x16xi32>)
// CHECK: %[[TURNED:.*]] = "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 2, 1>} : (tensor<2x12x16xi8>)
// CHECK: %[[SUMS:.*]] = "relax.matmul_integer"(%arg0, %[[TURNED]]) : (tensor<2x9x16xui8>, tensor<2x16x12xi8>) -> tensor<2x9x12xi32>
// CHECK: "relax.sum"(%{{.*}}) {axis = array<i64: -2>} : (tensor<2x16x12xi32>)
// CHECK: "relax.matmul_integer"(%[[RAISED]], %arg2) : (tensor<2x9x16xui8>, tensor<2x16x12xi8>)
// CHECK-NOT: relax.sum
// CHECK: return
// CHECK-LABEL: func.func @float_weights(
// CHECK-NOT: _integer
// CHECK-LABEL: func.func @pairs_of_other_sizes(
// CHECK: %[[LOWERED:.*]] = "relax.astype"({{.*}}) {dtype = i8} : (tensor<2x14x12xi32>)
// CHECK: %[[X:.*]] = "relax.pad"(%arg0) {pads = array<i64: 0, 0, 0, 0, 0, 2>} : (tensor<2x?x14xui8, {{.*}}>)
// CHECK: %[[Y:.*]] = "relax.pad"(%[[LOWERED]]) {pads = array<i64: 0, 0, 0, 0, 2, 0>} : (tensor<2x14x12xi8>)
// CHECK: "relax.matmul_integer"(%[[X]], %[[Y]]) : (tensor<2x?x16xui8, {{.*}}>, tensor<2x16x12xi8>)
// A depth that only the call knows to be the other's could not be padded like that.
// CHECK-LABEL: func.func @depth_of_the_call(
// CHECK-NOT: _integer
// CHECK: return
// SHORTS-LABEL: func.func @pairs(
// SHORTS: %[[LESS:.*]] = "relax.subtract"(%{{.*}}, %{{.*}}) : (tensor<2x9x16xi16>, tensor<i16>)
// SHORTS: "relax.matmul_integer"(%[[LESS]], %{{.*}}) : (tensor<2x9x16xi16>, tensor<2x16x12xi16>) -> tensor<2x9x12xi32>
// SHORTS-NOT: relax.sum
// SHORTS: return
func.func @pairs(%x: tensor<2x9x16xui8>, %y: tensor<2x12x16xi8>, %z: tensor<2x16x12xi8>, %p: tensor<2x9x16xi8>) -> (tensor<2x9x12xf32>, tensor<2x9x12xf32>) {
  %zx = "relax.constant"() {value = dense<10.0> : tensor<f32>} : () -> tensor<f32>
  %zp = "relax.constant"() {value = dense<-128.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<2x9x16xui8>) -> tensor<2x9x16xf32>
  %1 = "relax.subtract"(%0, %zx) : (tensor<2x9x16xf32>, tensor<f32>) -> tensor<2x9x16xf32>
  %2 = "relax.astype"(%y) {dtype = f32} : (tensor<2x12x16xi8>) -> tensor<2x12x16xf32>
  %3 = "relax.permute_dims"(%2) {axes = array<i64: 0, 2, 1>} : (tensor<2x12x16xf32>) -> tensor<2x16x12xf32>
  %4 = "relax.matmul"(%1, %3) : (tensor<2x9x16xf32>, tensor<2x16x12xf32>) -> tensor<2x9x12xf32>
  %5 = "relax.astype"(%p) {dtype = f32} : (tensor<2x9x16xi8>) -> tensor<2x9x16xf32>
  %6 = "relax.subtract"(%5, %zp) : (tensor<2x9x16xf32>, tensor<f32>) -> tensor<2x9x16xf32>
  %7 = "relax.astype"(%z) {dtype = f32} : (tensor<2x16x12xi8>) -> tensor<2x16x12xf32>
  %8 = "relax.matmul"(%6, %7) : (tensor<2x9x16xf32>, tensor<2x16x12xf32>) -> tensor<2x9x12xf32>
  return %4, %8 : tensor<2x9x12xf32>, tensor<2x9x12xf32>
}

func.func @float_weights(%x: tensor<2x9x16xui8>, %y: tensor<2x16x12xi8>, %v: tensor<2x12x8xf32>) -> tensor<2x9x8xf32> {
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<2x9x16xui8>) -> tensor<2x9x16xf32>
  %1 = "relax.astype"(%y) {dtype = f32} : (tensor<2x16x12xi8>) -> tensor<2x16x12xf32>
  %2 = "relax.matmul"(%0, %1) : (tensor<2x9x16xf32>, tensor<2x16x12xf32>) -> tensor<2x9x12xf32>
  %3 = "relax.softmax"(%2) : (tensor<2x9x12xf32>) -> tensor<2x9x12xf32>
  %4 = "relax.matmul"(%3, %v) : (tensor<2x9x12xf32>, tensor<2x12x8xf32>) -> tensor<2x9x8xf32>
  return %4 : tensor<2x9x8xf32>
}

func.func @pairs_of_other_sizes(%x: tensor<2x?x14xui8, #relax.dims<[2, "n", 14]>>, %y: tensor<2x14x12xui8>) -> tensor<2x?x12xf32, #relax.dims<[2, "n", 12]>> {
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<2x?x14xui8, #relax.dims<[2, "n", 14]>>) -> tensor<2x?x14xf32, #relax.dims<[2, "n", 14]>>
  %1 = "relax.astype"(%y) {dtype = f32} : (tensor<2x14x12xui8>) -> tensor<2x14x12xf32>
  %2 = "relax.matmul"(%0, %1) : (tensor<2x?x14xf32, #relax.dims<[2, "n", 14]>>, tensor<2x14x12xf32>) -> tensor<2x?x12xf32, #relax.dims<[2, "n", 12]>>
  return %2 : tensor<2x?x12xf32, #relax.dims<[2, "n", 12]>>
}

func.func @depth_of_the_call(%x: tensor<2x9x14xui8>, %y: tensor<2x?x12xi8, #relax.dims<[2, "k", 12]>>) -> tensor<2x9x12xi32> {
  %0 = "relax.astype"(%x) {dtype = i32} : (tensor<2x9x14xui8>) -> tensor<2x9x14xi32>
  %1 = "relax.astype"(%y) {dtype = i32} : (tensor<2x?x12xi8, #relax.dims<[2, "k", 12]>>) -> tensor<2x?x12xi32, #relax.dims<[2, "k", 12]>>
  %2 = "relax.matmul"(%0, %1) : (tensor<2x9x14xi32>, tensor<2x?x12xi32, #relax.dims<[2, "k", 12]>>) -> tensor<2x9x12xi32>
  return %2 : tensor<2x9x12xi32>
}

// relax-turn-weights: constants of f32 lie with the depth along rows, where warpgroups multiply f32; so do those of halves in rows that are
// no multiple of 16 bytes, where copies are asynchronous.
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{chip=sm_90a matmul-precision=tf32}" | filecheck %s
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{chip=sm_90a}" | filecheck %s --check-prefix=OTHER
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{matmul-precision=tf32}" | filecheck %s --check-prefix=OTHER
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{chip=sm_75}" | filecheck %s --check-prefix=OLD
// RUN: legato-opt %s --relax-turn-weights="target=vulkan" | filecheck %s --check-prefix=OLD
// OTHER-NOT: matmul_turned{{.*}}f32
// OTHER: matmul_turned{{.*}}f16
// OTHER-NOT: matmul_turned{{.*}}f32
// OLD-NOT: matmul_turned

// CHECK-LABEL: func.func @rows
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<64x36xf32>
// CHECK: "relax.matmul_turned"(%arg0, %[[W]]) : (tensor<?x36xf32, #relax.dims<["n", 36]>>, tensor<64x36xf32>)
func.func @rows(%x: tensor<?x36xf32, #relax.dims<["n", 36]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>> {
  %w = "relax.constant"() {value = dense<1.5> : tensor<36x64xf32>} : () -> tensor<36x64xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x36xf32, #relax.dims<["n", 36]>>, tensor<36x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %0 : tensor<?x64xf32, #relax.dims<["n", 64]>>
}

// Few rows, rows that are no multiple of 16 bytes, a weight that something else reads, and what is no constant stay.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: "relax.matmul"(
// CHECK-NOT: matmul_turned
func.func @others(%x: tensor<63x36xf32>, %y: tensor<64x37xf32>, %z: tensor<64x40xf32>, %w: tensor<40x64xf32>)
    -> (tensor<63x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<40x64xf32>) {
  %few = "relax.constant"() {value = dense<1.0> : tensor<36x64xf32>} : () -> tensor<36x64xf32>
  %odd = "relax.constant"() {value = dense<2.0> : tensor<37x64xf32>} : () -> tensor<37x64xf32>
  %shared = "relax.constant"() {value = dense<3.0> : tensor<40x64xf32>} : () -> tensor<40x64xf32>
  %0 = "relax.matmul"(%x, %few) : (tensor<63x36xf32>, tensor<36x64xf32>) -> tensor<63x64xf32>
  %1 = "relax.matmul"(%y, %odd) : (tensor<64x37xf32>, tensor<37x64xf32>) -> tensor<64x64xf32>
  %2 = "relax.matmul"(%z, %shared) : (tensor<64x40xf32>, tensor<40x64xf32>) -> tensor<64x64xf32>
  %3 = "relax.matmul"(%z, %w) : (tensor<64x40xf32>, tensor<40x64xf32>) -> tensor<64x64xf32>
  return %0, %1, %2, %3, %shared : tensor<63x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<40x64xf32>
}

// CHECK-LABEL: func.func @halves
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<21x64xf16>
// CHECK: "relax.matmul_turned"(%arg0, %[[W]]) : (tensor<1x64xf16>, tensor<21x64xf16>)
func.func @halves(%x: tensor<1x64xf16>) -> tensor<1x21xf16> {
  %w = "relax.constant"() {value = dense<1.5> : tensor<64x21xf16>} : () -> tensor<64x21xf16>
  %0 = "relax.matmul"(%x, %w) : (tensor<1x64xf16>, tensor<64x21xf16>) -> tensor<1x21xf16>
  return %0 : tensor<1x21xf16>
}

// Rows that are a multiple, whether they lie so or turned, and few columns.
// CHECK-LABEL: func.func @other_halves
// CHECK-NOT: matmul_turned
func.func @other_halves(%x: tensor<9x64xf16>, %y: tensor<9x63xf16>) -> (tensor<9x24xf16>, tensor<9x21xf16>, tensor<9x7xf16>) {
  %whole = "relax.constant"() {value = dense<1.0> : tensor<64x24xf16>} : () -> tensor<64x24xf16>
  %odd = "relax.constant"() {value = dense<2.0> : tensor<63x21xf16>} : () -> tensor<63x21xf16>
  %few = "relax.constant"() {value = dense<3.0> : tensor<64x7xf16>} : () -> tensor<64x7xf16>
  %0 = "relax.matmul"(%x, %whole) : (tensor<9x64xf16>, tensor<64x24xf16>) -> tensor<9x24xf16>
  %1 = "relax.matmul"(%y, %odd) : (tensor<9x63xf16>, tensor<63x21xf16>) -> tensor<9x21xf16>
  %2 = "relax.matmul"(%x, %few) : (tensor<9x64xf16>, tensor<64x7xf16>) -> tensor<9x7xf16>
  return %0, %1, %2 : tensor<9x24xf16>, tensor<9x21xf16>, tensor<9x7xf16>
}

// Filters of halves whose number is no multiple of 8 lie with the channels along rows.
// CHECK-LABEL: func.func @filters
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<21x3x3x64xf16>
// CHECK: "relax.conv2d"(%arg0, %[[W]]) {{.*}}kernel_layout = "OHWI"
// CHECK: "relax.conv2d"(%arg0, %{{.*}}) {{.*}}kernel_layout = "HWIO"
func.func @filters(%x: tensor<1x8x8x64xf16>) -> (tensor<1x6x6x21xf16>, tensor<1x6x6x24xf16>) {
  %w = "relax.constant"() {value = dense<1.5> : tensor<3x3x64x21xf16>} : () -> tensor<3x3x64x21xf16>
  %v = "relax.constant"() {value = dense<1.5> : tensor<3x3x64x24xf16>} : () -> tensor<3x3x64x24xf16>
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x64xf16>, tensor<3x3x64x21xf16>) -> tensor<1x6x6x21xf16>
  %1 = "relax.conv2d"(%x, %v) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x64xf16>, tensor<3x3x64x24xf16>) -> tensor<1x6x6x24xf16>
  return %0, %1 : tensor<1x6x6x21xf16>, tensor<1x6x6x24xf16>
}

// relax-pad-channels: images of three channels of half floats get a fourth, and others, of which each element is copied often, as many as make
// a multiple of eight, where copies are asynchronous.
// RUN: legato-opt %s --relax-pad-channels="target=nvvm" | filecheck %s
// RUN: legato-opt %s --relax-pad-channels="target=nvvm{chip=sm_75}" | filecheck %s --check-prefix=OTHER
// RUN: legato-opt %s --relax-pad-channels="target=vulkan" | filecheck %s --check-prefix=OTHER
// OTHER-NOT: relax.pad

// CHECK-LABEL: func.func @image
// CHECK: %[[T:.*]] = "relax.pad"(%arg0) {pads = array<i64: 0, 0, 0, 0, 0, 1, 0, 0>{{.*}} -> tensor<1x4x8x8xf16>
// CHECK: %[[P:.*]] = "relax.permute_dims"(%[[T]]){{.*}} -> tensor<1x8x8x4xf16>
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<3x3x4x8xf16>
// CHECK: "relax.conv2d"(%[[P]], %[[W]]) {{.*}}strides = array<i64: 2, 2>
func.func @image(%x: tensor<1x3x8x8xf16>) -> tensor<1x3x3x8xf16> {
  %t = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x8xf16>) -> tensor<1x8x8x3xf16>
  %w = "relax.constant"() {value = dense<1.5> : tensor<3x3x3x8xf16>} : () -> tensor<3x3x3x8xf16>
  %0 = "relax.conv2d"(%t, %w) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>}
      : (tensor<1x8x8x3xf16>, tensor<3x3x3x8xf16>) -> tensor<1x3x3x8xf16>
  return %0 : tensor<1x3x3x8xf16>
}

// Floats, whose elements are copied asynchronously as they are; two channels; few filters; filters that are no constant; an image that is
// no transpose, and one that something else reads.
// CHECK-LABEL: func.func @others
// CHECK-NOT: relax.pad
func.func @others(%x: tensor<1x3x8x8xf32>, %y: tensor<1x2x8x8xf16>, %z: tensor<1x3x8x8xf16>, %v: tensor<3x3x3x8xf16>, %u: tensor<1x8x8x3xf16>)
    -> (tensor<1x6x6x8xf32>, tensor<1x6x6x8xf16>, tensor<1x6x6x4xf16>, tensor<1x6x6x8xf16>, tensor<1x6x6x8xf16>, tensor<1x6x6x8xf16>, tensor<1x8x8x3xf16>) {
  %tx = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  %ty = "relax.permute_dims"(%y) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x2x8x8xf16>) -> tensor<1x8x8x2xf16>
  %t1 = "relax.permute_dims"(%z) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x8xf16>) -> tensor<1x8x8x3xf16>
  %t2 = "relax.permute_dims"(%z) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x8xf16>) -> tensor<1x8x8x3xf16>
  %t3 = "relax.permute_dims"(%z) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x8xf16>) -> tensor<1x8x8x3xf16>
  %wx = "relax.constant"() {value = dense<1.0> : tensor<3x3x3x8xf32>} : () -> tensor<3x3x3x8xf32>
  %wy = "relax.constant"() {value = dense<2.0> : tensor<3x3x2x8xf16>} : () -> tensor<3x3x2x8xf16>
  %wf = "relax.constant"() {value = dense<3.0> : tensor<3x3x3x4xf16>} : () -> tensor<3x3x3x4xf16>
  %w = "relax.constant"() {value = dense<4.0> : tensor<3x3x3x8xf16>} : () -> tensor<3x3x3x8xf16>
  %0 = "relax.conv2d"(%tx, %wx) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x6x6x8xf32>
  %1 = "relax.conv2d"(%ty, %wy) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x2xf16>, tensor<3x3x2x8xf16>) -> tensor<1x6x6x8xf16>
  %2 = "relax.conv2d"(%t1, %wf) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x3xf16>, tensor<3x3x3x4xf16>) -> tensor<1x6x6x4xf16>
  %3 = "relax.conv2d"(%t2, %v) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x3xf16>, tensor<3x3x3x8xf16>) -> tensor<1x6x6x8xf16>
  %4 = "relax.conv2d"(%u, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x3xf16>, tensor<3x3x3x8xf16>) -> tensor<1x6x6x8xf16>
  %5 = "relax.conv2d"(%t3, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x3xf16>, tensor<3x3x3x8xf16>) -> tensor<1x6x6x8xf16>
  return %0, %1, %2, %3, %4, %5, %t3 : tensor<1x6x6x8xf32>, tensor<1x6x6x8xf16>, tensor<1x6x6x4xf16>, tensor<1x6x6x8xf16>, tensor<1x6x6x8xf16>, tensor<1x6x6x8xf16>, tensor<1x8x8x3xf16>
}

// CHECK-LABEL: func.func @many
// CHECK: "relax.pad"(%arg0) {{.*}} -> tensor<?x8x8x24xf16, #relax.dims<["n", 8, 8, 24]>>
// CHECK: "relax.conv2d"({{.*}}tensor<3x3x24x64xf16>)
// CHECK: "relax.pad"(%arg1) {{.*}} -> tensor<1x8x8x64xbf16>
// CHECK: "relax.conv2d"({{.*}}tensor<1x1x64x512xbf16>)
func.func @many(%x: tensor<?x8x8x21xf16, #relax.dims<["n", 8, 8, 21]>>, %y: tensor<1x8x8x58xbf16>)
    -> (tensor<?x6x6x64xf16, #relax.dims<["n", 6, 6, 64]>>, tensor<1x8x8x512xbf16>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x21x64xf16>} : () -> tensor<3x3x21x64xf16>
  %v = "relax.constant"() {value = dense<2.0> : tensor<1x1x58x512xbf16>} : () -> tensor<1x1x58x512xbf16>
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"}
      : (tensor<?x8x8x21xf16, #relax.dims<["n", 8, 8, 21]>>, tensor<3x3x21x64xf16>) -> tensor<?x6x6x64xf16, #relax.dims<["n", 6, 6, 64]>>
  %1 = "relax.conv2d"(%y, %v) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x58xbf16>, tensor<1x1x58x512xbf16>) -> tensor<1x8x8x512xbf16>
  return %0, %1 : tensor<?x6x6x64xf16, #relax.dims<["n", 6, 6, 64]>>, tensor<1x8x8x512xbf16>
}

// Four or eight channels together, few filters, and so few channels that many would be added.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: relax.pad
func.func @stay(%x: tensor<1x8x8x20xf16>, %y: tensor<1x8x8x21xf16>, %z: tensor<1x8x8x5xf16>)
    -> (tensor<1x6x6x64xf16>, tensor<1x6x6x63xf16>, tensor<1x6x6x64xf16>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x20x64xf16>} : () -> tensor<3x3x20x64xf16>
  %v = "relax.constant"() {value = dense<1.0> : tensor<3x3x21x63xf16>} : () -> tensor<3x3x21x63xf16>
  %u = "relax.constant"() {value = dense<1.0> : tensor<3x3x5x64xf16>} : () -> tensor<3x3x5x64xf16>
  %0 = "relax.conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x20xf16>, tensor<3x3x20x64xf16>) -> tensor<1x6x6x64xf16>
  %1 = "relax.conv2d"(%y, %v) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x21xf16>, tensor<3x3x21x63xf16>) -> tensor<1x6x6x63xf16>
  %2 = "relax.conv2d"(%z, %u) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x5xf16>, tensor<3x3x5x64xf16>) -> tensor<1x6x6x64xf16>
  return %0, %1, %2 : tensor<1x6x6x64xf16>, tensor<1x6x6x63xf16>, tensor<1x6x6x64xf16>
}

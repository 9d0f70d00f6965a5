// RUN: legato-opt %s --relax-convert-layout=in-place=true | filecheck %s
// RUN: legato-opt %s --relax-convert-layout='in-place=true columns=true' | filecheck %s --check-prefix=COLUMNS
// RUN: legato-opt %s --relax-convert-layout | filecheck %s --check-prefix=ALL
// RUN: legato-opt %s --relax-convert-layout='kernel-layout=OHWI in-place=true' | filecheck %s --check-prefix=OHWI
// RUN: legato-opt %s --relax-convert-layout='in-place=true norms=true' | filecheck %s --check-prefix=NORMS
// RUN: legato-opt %s --relax-convert-layout='in-place=true mixes=true' | filecheck %s --check-prefix=MIXES
// One permutation at the input, one at the output; those of weights are left to relax-fold-constants.

// CHECK-LABEL: func.func @between
// CHECK-SAME: %[[W:arg1]]: tensor<8x3x3x3xf32>
// CHECK: %[[X:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 0, 2, 3, 1>} : (tensor<2x3x8x8xf32>) -> tensor<2x8x8x3xf32>
// CHECK: %[[K:.*]] = "relax.permute_dims"(%[[W]]) {axes = array<i64: 2, 3, 1, 0>} : (tensor<8x3x3x3xf32>) -> tensor<3x3x3x8xf32>
// CHECK: %[[Y:.*]] = "relax.conv2d"(%[[X]], %[[K]]) {data_layout = "NHWC", kernel_layout = "HWIO"}
// CHECK: %[[R:.*]] = "relax.relu"(%[[Y]]) : (tensor<2x6x6x8xf32>) -> tensor<2x6x6x8xf32>
// CHECK: %[[P:.*]] = "relax.max_pool2d"(%[[R]]) {kernel = array<i64: 2, 2>, layout = "NHWC"}
// CHECK: %[[C:.*]] = tensor.concat dim(3) %[[P]], %[[P]]
// CHECK: %[[S:.*]] = "relax.softmax"(%[[C]]) {axis = 3 : i64}
// CHECK: %[[Z:.*]] = "relax.permute_dims"(%[[S]]) {axes = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[Z]]
// OHWI-LABEL: func.func @between
// OHWI: %[[K:.*]] = "relax.permute_dims"(%arg1) {axes = array<i64: 0, 2, 3, 1>} : (tensor<8x3x3x3xf32>) -> tensor<8x3x3x3xf32>
// OHWI: "relax.conv2d"(%{{.*}}, %[[K]]) {data_layout = "NHWC", kernel_layout = "OHWI"}
func.func @between(%x: tensor<2x3x8x8xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x16x5x5xf32> {
  %0 = "relax.conv2d"(%x, %w) : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = "relax.relu"(%0) : (tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  %2 = "relax.max_pool2d"(%1) {kernel = array<i64: 2, 2>} : (tensor<2x8x6x6xf32>) -> tensor<2x8x5x5xf32>
  %3 = tensor.concat dim(1) %2, %2 : (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) -> tensor<2x16x5x5xf32>
  %4 = "relax.softmax"(%3) {axis = 1 : i64} : (tensor<2x16x5x5xf32>) -> tensor<2x16x5x5xf32>
  return %4 : tensor<2x16x5x5xf32>
}

// A channel shuffle is done in the layout: only the two halves of the channels change places.
// CHECK-LABEL: func.func @shuffle
// CHECK: %[[P:.*]] = "relax.max_pool2d"
// CHECK: %[[A:.*]] = "relax.reshape"(%[[P]]) {{.*}} -> tensor<2x7x7x4x2xf32>
// CHECK: %[[B:.*]] = "relax.permute_dims"(%[[A]]) {axes = array<i64: 0, 1, 2, 4, 3>}
// CHECK: %[[C:.*]] = "relax.reshape"(%[[B]]) {{.*}} -> tensor<2x7x7x8xf32>
// CHECK: "relax.avg_pool2d"(%[[C]])
func.func @shuffle(%x: tensor<2x8x8x8xf32>) -> tensor<2x8x6x6xf32> {
  %first = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32>
  %0 = "relax.max_pool2d"(%first) {kernel = array<i64: 2, 2>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x7x7xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[2, 4, 2, 7, 7]>} : (tensor<2x8x7x7xf32>) -> tensor<2x4x2x7x7xf32>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x4x2x7x7xf32>) -> tensor<2x2x4x7x7xf32>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<[2, 8, 7, 7]>} : (tensor<2x2x4x7x7xf32>) -> tensor<2x8x7x7xf32>
  %4 = "relax.avg_pool2d"(%3) {kernel = array<i64: 2, 2>} : (tensor<2x8x7x7xf32>) -> tensor<2x8x6x6xf32>
  return %4 : tensor<2x8x6x6xf32>
}

// After a global pool nothing is left to permute.
// CHECK-LABEL: func.func @head
// CHECK: %[[P:.*]] = "relax.max_pool2d"
// CHECK-NEXT: %[[M:.*]] = "relax.mean"(%[[P]]) {axis = array<i64: 1, 2>, keepdims = true} : (tensor<2x7x7x8xf32>) -> tensor<2x1x1x8xf32>
// CHECK-NEXT: %[[R:.*]] = "relax.reshape"(%[[M]]) {{.*}} -> tensor<2x8x1x1xf32>
// CHECK-NEXT: %[[F:.*]] = "relax.reshape"(%[[R]]) {{.*}} -> tensor<2x8xf32>
// CHECK-NEXT: return %[[F]]
func.func @head(%x: tensor<2x8x8x8xf32>) -> tensor<2x8xf32> {
  %first = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32>
  %0 = "relax.max_pool2d"(%first) {kernel = array<i64: 2, 2>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x7x7xf32>
  %1 = "relax.mean"(%0) {axis = array<i64: 2, 3>, keepdims = true} : (tensor<2x8x7x7xf32>) -> tensor<2x8x1x1xf32>
  %2 = "relax.reshape"(%1) {shape = #relax.dims<[2, 8]>} : (tensor<2x8x1x1xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// Without a convolution or pool there is nothing to do.
// CHECK-LABEL: func.func @transformer
// CHECK-NEXT: "relax.permute_dims"
// CHECK-NEXT: "relax.softmax"
// CHECK-NEXT: return
func.func @transformer(%x: tensor<2x8x4x3xf32>) -> tensor<2x4x8x3xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x3xf32>) -> tensor<2x4x8x3xf32>
  %1 = "relax.softmax"(%0) : (tensor<2x4x8x3xf32>) -> tensor<2x4x8x3xf32>
  return %1 : tensor<2x4x8x3xf32>
}

// CHECK-LABEL: func.func @types
// CHECK: %[[Y:.*]] = "relax.permute_dims"({{.*}}) {axes = array<i64: 0, 3, 1, 2>}
// CHECK: %[[Z:.*]] = tensor.cast %[[Y]] : tensor<?x8x7x7xf32, #relax.dims<["n", 8, 7, 7]>> to tensor<?x8x7x7xf32>
// CHECK: return %[[Z]]
func.func @types(%x: tensor<?x8x8x8xf32, #relax.dims<["n", 8, 8, 8]>>) -> tensor<?x8x7x7xf32> {
  %first = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<?x8x8x8xf32, #relax.dims<["n", 8, 8, 8]>>) -> tensor<?x8x8x8xf32, #relax.dims<["n", 8, 8, 8]>>
  %0 = "relax.max_pool2d"(%first) {kernel = array<i64: 2, 2>} : (tensor<?x8x8x8xf32, #relax.dims<["n", 8, 8, 8]>>) -> tensor<?x8x7x7xf32>
  return %0 : tensor<?x8x7x7xf32>
}

// A value read in both branches and behind them is transposed where it is read: what a branch makes is not seen outside.
// CHECK-LABEL: func.func @branches
// CHECK: %[[P:.*]] = "relax.max_pool2d"({{.*}}) {kernel = array<i64: 2, 2>, layout = "NHWC"}
// CHECK: scf.if
// CHECK:   "relax.max_pool2d"(%[[P]])
// CHECK:   "relax.permute_dims"
// CHECK: else
// CHECK:   "relax.permute_dims"(%[[P]])
// CHECK: %[[Q:.*]] = "relax.permute_dims"(%[[P]])
// CHECK: return %{{.*}}, %[[Q]]
func.func @branches(%x: tensor<2x9x9x8xf32>, %c: i1) -> (tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>) {
  %first = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x9x9x8xf32>) -> tensor<2x8x9x9xf32>
  %0 = "relax.max_pool2d"(%first) {kernel = array<i64: 2, 2>} : (tensor<2x8x9x9xf32>) -> tensor<2x8x8x8xf32>
  %r = scf.if %c -> (tensor<2x8x8x8xf32>) {
    %1 = "relax.max_pool2d"(%0) {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32>
    scf.yield %1 : tensor<2x8x8x8xf32>
  } else {
    scf.yield %0 : tensor<2x8x8x8xf32>
  }
  return %r, %0 : tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>
}

// What a model has with channels last, and permutes to channels first, is held as it is: what is added is in the layout, too.
// CHECK-LABEL: func.func @channels_last
// CHECK-SAME: %[[X:arg0]]: tensor<2x7x7x8xf32>, %[[Y:arg1]]: tensor<2x7x7x8xf32>
// CHECK: %[[S:.*]] = "relax.multiply"(%[[X]], %{{.*}}) : (tensor<2x7x7x8xf32>, tensor<1x1x1x8xf32>)
// CHECK-NEXT: %[[A:.*]] = "relax.add"(%[[S]], %[[Y]]) : (tensor<2x7x7x8xf32>, tensor<2x7x7x8xf32>)
// CHECK-NEXT: "relax.max_pool2d"(%[[A]]) {kernel = array<i64: 2, 2>, layout = "NHWC"}
func.func @channels_last(%x: tensor<2x7x7x8xf32>, %y: tensor<2x7x7x8xf32>, %scale: tensor<8x1x1xf32>) -> tensor<2x8x6x6xf32> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x7x7x8xf32>) -> tensor<2x8x7x7xf32>
  %1 = "relax.permute_dims"(%y) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x7x7x8xf32>) -> tensor<2x8x7x7xf32>
  %2 = "relax.multiply"(%0, %scale) : (tensor<2x8x7x7xf32>, tensor<8x1x1xf32>) -> tensor<2x8x7x7xf32>
  %3 = "relax.add"(%2, %1) : (tensor<2x8x7x7xf32>, tensor<2x8x7x7xf32>) -> tensor<2x8x7x7xf32>
  %4 = "relax.max_pool2d"(%3) {kernel = array<i64: 2, 2>} : (tensor<2x8x7x7xf32>) -> tensor<2x8x6x6xf32>
  return %4 : tensor<2x8x6x6xf32>
}

// A softmax along the last dimension goes through neighbouring elements, in a function that has images, too.
// CHECK-LABEL: func.func @rows
// CHECK: %[[X:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: "relax.softmax"(%[[X]])
func.func @rows(%x: tensor<2x7x7x8xf32>, %y: tensor<2x8x7x7xf32>) -> (tensor<2x8x7x7xf32>, tensor<2x8x6x6xf32>) {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x7x7x8xf32>) -> tensor<2x8x7x7xf32>
  %1 = "relax.softmax"(%0) : (tensor<2x8x7x7xf32>) -> tensor<2x8x7x7xf32>
  %2 = "relax.max_pool2d"(%y) {kernel = array<i64: 2, 2>} : (tensor<2x8x7x7xf32>) -> tensor<2x8x6x6xf32>
  return %1, %2 : tensor<2x8x7x7xf32>, tensor<2x8x6x6xf32>
}

// What resizes an image, products with a matrix along its rows and its columns and elements taken along these, is done in the layout.
// CHECK-LABEL: func.func @resized
// CHECK: %[[P:.*]] = "relax.max_pool2d"
// CHECK: %[[R:.*]] = "relax.reshape"(%[[P]]) {{.*}} -> tensor<2x7x56xf32>
// CHECK: %[[D:.*]] = "relax.matmul"(%{{.*}}, %[[R]]) : (tensor<14x7xf32>, tensor<2x7x56xf32>) -> tensor<2x14x56xf32>
// CHECK: %[[S:.*]] = "relax.reshape"(%[[D]]) {{.*}} -> tensor<2x14x7x8xf32>
// CHECK: %[[M:.*]] = "relax.permute_dims"(%{{.*}}) {axes = array<i64: 1, 0>} : (tensor<7x14xf32>) -> tensor<14x7xf32>
// CHECK: %[[E:.*]] = "relax.matmul"(%[[M]], %[[S]]) : (tensor<14x7xf32>, tensor<2x14x7x8xf32>) -> tensor<2x14x14x8xf32>
// CHECK: %[[T:.*]] = "relax.take"(%[[E]], %{{.*}}) {axis = 2 : i64} : (tensor<2x14x14x8xf32>, tensor<3xi64>) -> tensor<2x14x3x8xf32>
// CHECK: "relax.matmul"(%[[T]], %{{.*}}) : (tensor<2x14x3x8xf32>, tensor<8x5xf32>) -> tensor<2x14x3x5xf32>
func.func @resized(%x: tensor<2x8x8x8xf32>, %places: tensor<3xi64>) -> tensor<2x5x14x3xf32> {
  %down = "relax.constant"() {value = dense<1.0> : tensor<14x7xf32>} : () -> tensor<14x7xf32>
  %across = "relax.constant"() {value = dense<2.0> : tensor<7x14xf32>} : () -> tensor<7x14xf32>
  %mix = "relax.constant"() {value = dense<3.0> : tensor<8x5xf32>} : () -> tensor<8x5xf32>
  %first = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32>
  %0 = "relax.max_pool2d"(%first) {kernel = array<i64: 2, 2>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x7x7xf32>
  %1 = "relax.matmul"(%down, %0) : (tensor<14x7xf32>, tensor<2x8x7x7xf32>) -> tensor<2x8x14x7xf32>
  %2 = "relax.matmul"(%1, %across) : (tensor<2x8x14x7xf32>, tensor<7x14xf32>) -> tensor<2x8x14x14xf32>
  %3 = "relax.take"(%2, %places) {axis = 3 : i64} : (tensor<2x8x14x14xf32>, tensor<3xi64>) -> tensor<2x8x14x3xf32>
  %4 = "relax.permute_dims"(%3) {axes = array<i64: 0, 2, 3, 1>} : (tensor<2x8x14x3xf32>) -> tensor<2x14x3x8xf32>
  %5 = "relax.matmul"(%4, %mix) : (tensor<2x14x3x8xf32>, tensor<8x5xf32>) -> tensor<2x14x3x5xf32>
  %6 = "relax.permute_dims"(%5) {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x14x3x5xf32>) -> tensor<2x5x14x3xf32>
  return %6 : tensor<2x5x14x3xf32>
}

// Between two transposes a product along the last axis is one along the rows: nothing moves. Where the result stays transposed, or
// something else reads it so, what is multiplied moves.
// MIXES-LABEL: func.func @mixed
// MIXES: %[[W:.*]] = "relax.permute_dims"(%{{.*}}) {axes = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>
// MIXES: %[[Y:.*]] = "relax.matmul"(%[[W]], %arg0) : (tensor<5x4xf32>, tensor<2x4x8xf32>) -> tensor<2x5x8xf32>
// MIXES: %[[B:.*]] = "relax.reshape"({{.*}}) {{.*}} -> tensor<1x5x1xf32>
// MIXES: %[[Z:.*]] = "relax.add"(%[[Y]], %[[B]])
// MIXES: %[[X:.*]] = "relax.permute_dims"(%arg0) {axes = array<i64: 0, 2, 1>}
// MIXES: %[[V:.*]] = "relax.matmul"(%[[X]], %{{.*}}) : (tensor<2x8x4xf32>, tensor<4x5xf32>) -> tensor<2x8x5xf32>
// MIXES: return %[[Z]], %[[V]]
// CHECK-LABEL: func.func @mixed
// CHECK: "relax.matmul"({{.*}}) : (tensor<2x8x4xf32>, tensor<4x5xf32>)
func.func @mixed(%x: tensor<2x4x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x8x5xf32>) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<4x5xf32>} : () -> tensor<4x5xf32>
  %b = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>} : () -> tensor<5xf32>
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %1 = "relax.matmul"(%0, %w) : (tensor<2x8x4xf32>, tensor<4x5xf32>) -> tensor<2x8x5xf32>
  %2 = "relax.add"(%1, %b) : (tensor<2x8x5xf32>, tensor<5xf32>) -> tensor<2x8x5xf32>
  %3 = "relax.permute_dims"(%2) {axes = array<i64: 0, 2, 1>} : (tensor<2x8x5xf32>) -> tensor<2x5x8xf32>
  %4 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %5 = "relax.matmul"(%4, %w) : (tensor<2x8x4xf32>, tensor<4x5xf32>) -> tensor<2x8x5xf32>
  return %3, %5 : tensor<2x5x8xf32>, tensor<2x8x5xf32>
}

// What is larger than the image beside it stays in its own order: the image moves, which feeds an outer product.
// CHECK-LABEL: func.func @outer
// CHECK: %[[Y:.*]] = "relax.conv1d"
// CHECK: %[[P:.*]] = "relax.permute_dims"({{.*}}) {axes = array<i64: 0, 3, 1, 2>} : (tensor<1x6x1x8xf32>) -> tensor<1x8x6x1xf32>
// CHECK-NEXT: %[[Z:.*]] = "relax.multiply"(%[[P]], %arg2)
// CHECK-NEXT: return %[[Z]]
func.func @outer(%x: tensor<1x3x8xf32>, %w: tensor<8x3x3xf32>, %y: tensor<1x8x6x16xf32>) -> tensor<1x8x6x16xf32> {
  %0 = "relax.conv1d"(%x, %w) : (tensor<1x3x8xf32>, tensor<8x3x3xf32>) -> tensor<1x8x6xf32>
  %1 = "relax.expand_dims"(%0) {axis = array<i64: 3>} : (tensor<1x8x6xf32>) -> tensor<1x8x6x1xf32>
  %2 = "relax.multiply"(%1, %y) : (tensor<1x8x6x1xf32>, tensor<1x8x6x16xf32>) -> tensor<1x8x6x16xf32>
  return %2 : tensor<1x8x6x16xf32>
}

// Pools of channels-first images have vectors of columns, and stay; not with columns far apart, or of an unknown
// number of channels. Other sizes may be unknown.
// Without the option, all images are converted, as a backend may want that has no other pools.
// ALL-NOT: relax.strided_slice
// ALL-LABEL: func.func @columns
// ALL: "relax.max_pool2d"({{.*}}) {kernel = array<i64: 2, 2>, layout = "NHWC"} : (tensor<2x9x9x8xf32>)
// CHECK-LABEL: func.func @columns
// CHECK: "relax.max_pool2d"(%arg0) {kernel = array<i64: 2, 2>} : (tensor<2x8x9x9xf32>)
// CHECK: "relax.max_pool2d"({{.*}}) {dilations = array<i64: 1, 7>, kernel = array<i64: 2, 2>, layout = "NHWC", strides = array<i64: 1, 9>}
// CHECK: "relax.max_pool2d"(%arg1) {kernel = array<i64: 2, 2>} : (tensor<2x8x9x9xi8>)
// CHECK: "relax.max_pool2d"({{.*}}) {kernel = array<i64: 2, 2>, layout = "NHWC"} : (tensor<2x9x9x?xf32, {{.*}}>)
// CHECK: "relax.max_pool2d"(%arg3) {kernel = array<i64: 2, 2>} : (tensor<2x8x?x?xf32, {{.*}}>)
func.func @columns(%x: tensor<2x8x9x9xf32>, %y: tensor<2x8x9x9xi8>, %z: tensor<2x?x9x9xf32, #relax.dims<[2, "c", 9, 9]>>,
    %u: tensor<2x8x?x?xf32, #relax.dims<[2, 8, "h", "w"]>>)
    -> (tensor<2x8x8x8xf32>, tensor<2x8x8x1xf32>, tensor<2x8x8x8xi8>, tensor<2x?x8x8xf32, #relax.dims<[2, "c", 8, 8]>>,
        tensor<2x8x?x?xf32, #relax.dims<[2, 8, "h - 1", "w - 1"]>>) {
  %0 = "relax.max_pool2d"(%x) {kernel = array<i64: 2, 2>} : (tensor<2x8x9x9xf32>) -> tensor<2x8x8x8xf32>
  %1 = "relax.max_pool2d"(%x) {dilations = array<i64: 1, 7>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 9>} : (tensor<2x8x9x9xf32>) -> tensor<2x8x8x1xf32>
  %2 = "relax.max_pool2d"(%y) {kernel = array<i64: 2, 2>} : (tensor<2x8x9x9xi8>) -> tensor<2x8x8x8xi8>
  %3 = "relax.max_pool2d"(%z) {kernel = array<i64: 2, 2>} : (tensor<2x?x9x9xf32, #relax.dims<[2, "c", 9, 9]>>)
    -> tensor<2x?x8x8xf32, #relax.dims<[2, "c", 8, 8]>>
  %4 = "relax.max_pool2d"(%u) {kernel = array<i64: 2, 2>} : (tensor<2x8x?x?xf32, #relax.dims<[2, 8, "h", "w"]>>)
    -> tensor<2x8x?x?xf32, #relax.dims<[2, 8, "h - 1", "w - 1"]>>
  return %0, %1, %2, %3, %4 : tensor<2x8x8x8xf32>, tensor<2x8x8x1xf32>, tensor<2x8x8x8xi8>,
    tensor<2x?x8x8xf32, #relax.dims<[2, "c", 8, 8]>>, tensor<2x8x?x?xf32, #relax.dims<[2, 8, "h - 1", "w - 1"]>>
}

// Weights of integers may have a layout of their own.
// RUN: legato-opt %s --relax-convert-layout="integer-kernel-layout=OHWI" | filecheck %s --check-prefix=INTEGERS
// INTEGERS-LABEL: func.func @integers(
// INTEGERS: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {data_layout = "NHWC", kernel_layout = "OHWI", pad_value = 3 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x8x8x4xui8>, tensor<8x3x3x4xi8>)
// INTEGERS: "relax.conv2d"(%{{.*}}, %{{.*}}) {data_layout = "NHWC", kernel_layout = "HWIO"
// Neighbours of a depthwise one are channels.
// INTEGERS: "relax.conv2d_integer"(%{{.*}}, %{{.*}}) {data_layout = "NHWC", groups = 4 : i64, kernel_layout = "HWIO"} : (tensor<1x8x8x4xui8>, tensor<3x3x1x4xi8>)
func.func @integers(%x: tensor<1x4x8x8xui8>, %w: tensor<8x4x3x3xi8>, %y: tensor<1x4x8x8xf32>, %v: tensor<8x4x3x3xf32>, %u: tensor<4x1x3x3xi8>) -> (tensor<1x8x8x8xi32>, tensor<1x8x6x6xf32>, tensor<1x4x6x6xi32>) {
  %0 = "relax.conv2d_integer"(%x, %w) {pad_value = 3 : i64, padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x8x8xui8>, tensor<8x4x3x3xi8>) -> tensor<1x8x8x8xi32>
  %1 = "relax.conv2d"(%y, %v) : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  %2 = "relax.conv2d_integer"(%x, %u) {groups = 4 : i64} : (tensor<1x4x8x8xui8>, tensor<4x1x3x3xi8>) -> tensor<1x4x6x6xi32>
  return %0, %1, %2 : tensor<1x8x8x8xi32>, tensor<1x8x6x6xf32>, tensor<1x4x6x6xi32>
}

// Convolutions of f32 that are depthwise or of few features have vectors of columns, too, as long as the image is channels-first; a
// depthwise one of fewer channels than lanes gets it so: with the option.
// ALL-LABEL: func.func @few
// CHECK-LABEL: func.func @few
// CHECK-NOT: "relax.conv2d"(%arg
// ALL-NOT: "relax.conv2d"(%arg
// COLUMNS-LABEL: func.func @few
// COLUMNS: %[[A:.*]] = "relax.conv2d"(%arg0, %arg1) : (tensor<1x3x20x20xf32>, tensor<4x3x3x3xf32>)
// COLUMNS: "relax.conv2d"(%[[A]], %arg2) {groups = 4 : i64} : (tensor<1x4x18x18xf32>
// COLUMNS: "relax.conv2d"({{.*}}) {data_layout = "NHWC", {{.*}}} : (tensor<1x16x16x4xf32>, tensor<3x3x4x12xf32>)
// COLUMNS: "relax.conv2d"({{.*}}) {groups = 12 : i64} : (tensor<1x12x14x14xf32>, tensor<12x1x3x3xf32>)
// COLUMNS: "relax.conv2d"({{.*}}) {data_layout = "NHWC", groups = 32
func.func @few(%x: tensor<1x3x20x20xf32>, %a: tensor<4x3x3x3xf32>, %b: tensor<4x1x3x3xf32>, %c: tensor<12x4x3x3xf32>, %d: tensor<12x1x3x3xf32>,
    %y: tensor<1x32x9x9xf32>, %e: tensor<32x1x3x3xf32>) -> (tensor<1x12x12x12xf32>, tensor<1x32x7x7xf32>) {
  %0 = "relax.conv2d"(%x, %a) : (tensor<1x3x20x20xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x18x18xf32>
  %1 = "relax.conv2d"(%0, %b) {groups = 4 : i64} : (tensor<1x4x18x18xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x16x16xf32>
  %2 = "relax.conv2d"(%1, %c) : (tensor<1x4x16x16xf32>, tensor<12x4x3x3xf32>) -> tensor<1x12x14x14xf32>
  %3 = "relax.conv2d"(%2, %d) {groups = 12 : i64} : (tensor<1x12x14x14xf32>, tensor<12x1x3x3xf32>) -> tensor<1x12x12x12xf32>
  %4 = "relax.conv2d"(%y, %e) {groups = 32 : i64} : (tensor<1x32x9x9xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x7x7xf32>
  return %3, %4 : tensor<1x12x12x12xf32>, tensor<1x32x7x7xf32>
}

// A depthwise one between channels-first images stays so if vectors of columns are about full; not for one that a convolution in channels
// last reads, nor with large windows.
// COLUMNS-LABEL: func.func @depthwise_alone
// COLUMNS: "relax.conv2d"(%arg0, %arg1) {groups = 32 : i64} : (tensor<1x32x17x17xf32>
// COLUMNS: "relax.conv2d"({{.*}}) {data_layout = "NHWC", groups = 32
// COLUMNS: "relax.conv2d"({{.*}}) {data_layout = "NHWC", {{.*}}} : ({{.*}}, tensor<1x1x32x64xf32>)
// COLUMNS: "relax.conv2d"({{.*}}) {data_layout = "NHWC", groups = 32 {{.*}} tensor<7x7
func.func @depthwise_alone(%x: tensor<1x32x17x17xf32>, %a: tensor<32x1x3x3xf32>, %b: tensor<64x32x1x1xf32>, %c: tensor<32x1x7x7xf32>)
    -> (tensor<1x32x15x15xf32>, tensor<1x64x15x15xf32>, tensor<1x32x11x11xf32>) {
  %0 = "relax.conv2d"(%x, %a) {groups = 32 : i64} : (tensor<1x32x17x17xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x15x15xf32>
  %1 = "relax.conv2d"(%x, %a) {groups = 32 : i64} : (tensor<1x32x17x17xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x15x15xf32>
  %2 = "relax.conv2d"(%1, %b) : (tensor<1x32x15x15xf32>, tensor<64x32x1x1xf32>) -> tensor<1x64x15x15xf32>
  %3 = "relax.conv2d"(%x, %c) {groups = 32 : i64} : (tensor<1x32x17x17xf32>, tensor<32x1x7x7xf32>) -> tensor<1x32x11x11xf32>
  return %0, %2, %3 : tensor<1x32x15x15xf32>, tensor<1x64x15x15xf32>, tensor<1x32x11x11xf32>
}

// A normalization of two groups, as exporters write it: channels are summed by themselves, then those of a group.
// CHECK-LABEL: func.func @groups
// CHECK: "relax.permute_dims"(%{{.*}}) {axes = array<i64: 0, 3, 1, 2>}
// CHECK: "relax.instance_norm"
// NORMS-LABEL: func.func @groups
// NORMS: %[[X:.*]] = "relax.conv2d"(%{{.*}}) {data_layout = "NHWC"
// NORMS: %[[G:.*]] = "relax.reshape"(%{{.*}}) {{.*}} -> tensor<8xf32>
// NORMS: %[[B:.*]] = "relax.reshape"(%{{.*}}) {{.*}} -> tensor<8xf32>
// NORMS: %[[S:.*]] = "relax.mean"(%[[X]]) {axis = array<i64: 1, 2>, keepdims = true} : (tensor<2x6x6x8xf32>) -> tensor<2x1x1x8xf32>
// NORMS: "relax.mean"(%{{.*}}) {axis = array<i64: 2>, keepdims = true} : (tensor<2x2x4xf32>) -> tensor<2x2x1xf32>
// NORMS: %[[M:.*]] = "relax.reshape"(%{{.*}}) {{.*}} -> tensor<2x1x1x8xf32>
// NORMS: %[[D:.*]] = "relax.subtract"(%[[M]], %[[X]])
// NORMS: "relax.square"(%[[D]])
// NORMS: "relax.rsqrt"
// NORMS: %[[F:.*]] = "relax.multiply"(%{{.*}}, %[[G]])
// NORMS: %[[C:.*]] = "relax.subtract"(%[[X]], %[[M]])
// NORMS: %[[T:.*]] = "relax.multiply"(%[[C]], %[[F]])
// NORMS: %[[Y:.*]] = "relax.add"(%[[T]], %[[B]])
// NORMS: %[[Z:.*]] = "relax.permute_dims"(%[[Y]])
// NORMS: return %[[Z]]
func.func @groups(%x: tensor<2x3x8x8xf32>, %w: tensor<8x3x3x3xf32>, %gamma: tensor<2xf32>, %beta: tensor<2xf32>) -> tensor<2x8x6x6xf32> {
  %0 = "relax.conv2d"(%x, %w) : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = "relax.reshape"(%0) {shape = #relax.dims<[2, 2, 144]>} : (tensor<2x8x6x6xf32>) -> tensor<2x2x144xf32>
  %2 = "relax.instance_norm"(%1, %gamma, %beta) : (tensor<2x2x144xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x144xf32>
  %3 = "relax.reshape"(%2) {shape = #relax.dims<[2, 8, 6, 6]>} : (tensor<2x2x144xf32>) -> tensor<2x8x6x6xf32>
  return %3 : tensor<2x8x6x6xf32>
}

// relax-pad-products: products of halves in rows of an odd length get rows of multiples of 16 bytes, where copies are asynchronous and many
// rows and columns share them.
// RUN: legato-opt %s --relax-pad-products="target=nvvm" | filecheck %s
// RUN: legato-opt %s --relax-pad-products="target=nvvm{chip=sm_90a}" | filecheck %s --check-prefixes=CHECK,HOPPER
// RUN: legato-opt %s --relax-pad-products="target=nvvm{chip=sm_75}" | filecheck %s --check-prefix=OTHER
// RUN: legato-opt %s --relax-pad-products="target=vulkan" | filecheck %s --check-prefix=OTHER
// OTHER-NOT: relax.pad

// A weight is padded at compile time, also where few rows are multiplied by it.
// CHECK-LABEL: func.func @weight
// CHECK: %[[P:.*]] = "relax.pad"(%arg0) {{.*}}pads = array<i64: 0, 0, 0, 3>{{.*}} -> tensor<16x80xf16>
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<80x512xf16>
// CHECK: "relax.matmul"(%[[P]], %[[W]]) {{.*}} -> tensor<16x512xf16>
func.func @weight(%x: tensor<16x77xf16>) -> tensor<16x512xf16> {
  %w = "relax.constant"() {value = dense<1.5> : tensor<77x512xf16>} : () -> tensor<77x512xf16>
  %0 = "relax.matmul"(%x, %w) : (tensor<16x77xf16>, tensor<77x512xf16>) -> tensor<16x512xf16>
  return %0 : tensor<16x512xf16>
}

// Of two values both are padded, and what is more of the result is cut.
// CHECK-LABEL: func.func @values
// CHECK-DAG: %[[A:.*]] = "relax.pad"(%arg0) {{.*}} -> tensor<?x520xbf16, #relax.dims<["n", 520]>>
// CHECK-DAG: %[[B:.*]] = "relax.pad"(%arg1) {{.*}}pads = array<i64: 0, 0, 7, 7>{{.*}} -> tensor<520x520xbf16>
// CHECK: %[[C:.*]] = "relax.matmul"(%[[A]], %[[B]])
// CHECK: "relax.strided_slice"(%[[C]]) {{.*}} -> tensor<?x513xbf16, #relax.dims<["n", 513]>>
func.func @values(%x: tensor<?x513xbf16, #relax.dims<["n", 513]>>, %y: tensor<513x513xbf16>) -> tensor<?x513xbf16, #relax.dims<["n", 513]>> {
  %0 = "relax.matmul"(%x, %y) : (tensor<?x513xbf16, #relax.dims<["n", 513]>>, tensor<513x513xbf16>) -> tensor<?x513xbf16, #relax.dims<["n", 513]>>
  return %0 : tensor<?x513xbf16, #relax.dims<["n", 513]>>
}

// Pairs are copied by 4 bytes; the copy engine takes none of these.
// CHECK-LABEL: func.func @pairs
// HOPPER: "relax.pad"
func.func @pairs(%x: tensor<600x514xf16>, %y: tensor<514x512xf16>) -> tensor<600x512xf16> {
  %0 = "relax.matmul"(%x, %y) : (tensor<600x514xf16>, tensor<514x512xf16>) -> tensor<600x512xf16>
  return %0 : tensor<600x512xf16>
}

// Few columns, few rows of two values, a short depth, and floats stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: relax.pad
func.func @others(%x: tensor<64x77xf16>, %y: tensor<77x512xf16>, %z: tensor<64x63xf16>, %v: tensor<64x77xf32>)
    -> (tensor<64x511xf16>, tensor<64x512xf16>, tensor<64x512xf16>, tensor<64x512xf32>) {
  %few = "relax.constant"() {value = dense<1.0> : tensor<77x511xf16>} : () -> tensor<77x511xf16>
  %short = "relax.constant"() {value = dense<2.0> : tensor<63x512xf16>} : () -> tensor<63x512xf16>
  %floats = "relax.constant"() {value = dense<3.0> : tensor<77x512xf32>} : () -> tensor<77x512xf32>
  %0 = "relax.matmul"(%x, %few) : (tensor<64x77xf16>, tensor<77x511xf16>) -> tensor<64x511xf16>
  %1 = "relax.matmul"(%x, %y) : (tensor<64x77xf16>, tensor<77x512xf16>) -> tensor<64x512xf16>
  %2 = "relax.matmul"(%z, %short) : (tensor<64x63xf16>, tensor<63x512xf16>) -> tensor<64x512xf16>
  %3 = "relax.matmul"(%v, %floats) : (tensor<64x77xf32>, tensor<77x512xf32>) -> tensor<64x512xf32>
  return %0, %1, %2, %3 : tensor<64x511xf16>, tensor<64x512xf16>, tensor<64x512xf16>, tensor<64x512xf32>
}

// RUN: legato-opt %s --tir-round-factors=target=llvm{cpu=sapphirerapids} | filecheck %s --check-prefixes=CHECK,AMX
// RUN: legato-opt %s --tir-round-factors=target=llvm{cpu=znver4} | filecheck %s --check-prefixes=CHECK,LANES
// RUN: legato-opt %s --tir-round-factors=target=llvm{cpu=x86-64-v4} | filecheck %s --check-prefix=WITHOUT
// The factors of products by constant weights are rounded to bf16, the weight at once, and the products are added up in f32.

// WITHOUT-NOT: bf16
// CHECK-LABEL: func.func @main
// CHECK: "relax.constant"() {{.*}} -> tensor<64x96xbf16>
// CHECK: call @matmul(%arg0, %{{.*}}, %arg2) : (tensor<?x64xf32>, tensor<64x96xbf16>, tensor<?x96xf32>) -> tensor<?x96xf32>
func.func @main(%x: tensor<?x64xf32>, %v: tensor<64x96xf32>, %a: tensor<?x96xf32>, %y: tensor<16x64xf32>, %b: tensor<16x96xf32>)
    -> (tensor<?x96xf32>, tensor<16x96xf32>) attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<64x96xf32>} : () -> tensor<64x96xf32>
  %0 = call @matmul(%x, %w, %a) : (tensor<?x64xf32>, tensor<64x96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
  %1 = call @variable(%y, %v, %b) : (tensor<16x64xf32>, tensor<64x96xf32>, tensor<16x96xf32>) -> tensor<16x96xf32>
  return %0, %1 : tensor<?x96xf32>, tensor<16x96xf32>
}
// CHECK-LABEL: func.func private @matmul(
// CHECK-SAME: %arg1: tensor<64x96xbf16>
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<?x64xf32>) outs(%{{.*}} : tensor<?x64xbf16>)
// CHECK: arith.truncf
// CHECK: linalg.generic {{.*}} ins(%[[X]], %arg1 : tensor<?x64xbf16>, tensor<64x96xbf16>) outs(%{{.*}} : tensor<?x96xf32>)
// CHECK-COUNT-2: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.mulf %{{.*}} : f32
// CHECK: arith.addf %{{.*}} : f32
func.func private @matmul(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %out: tensor<?x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x96xf32>) -> tensor<?x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x96xf32>) outs(%0 : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %1 : tensor<?x96xf32>
}

// Weights known at run time only are not packed: such products stay.
// CHECK-LABEL: func.func private @variable
// CHECK: linalg.matmul ins(%arg0, %arg1 : tensor<16x64xf32>, tensor<64x96xf32>)
func.func private @variable(%x: tensor<16x64xf32>, %w: tensor<64x96xf32>, %out: tensor<16x96xf32> {tir.out, bufferization.writable = true})
    -> tensor<16x96xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<16x96xf32>) -> tensor<16x96xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x96xf32>) outs(%0 : tensor<16x96xf32>) -> tensor<16x96xf32>
  return %1 : tensor<16x96xf32>
}

// Of one row, matrix registers are not filled, and only a large weight is rounded: less is read. Pairs in the lanes of vectors are of both.
// LANES-LABEL: func.func @few
// LANES: call @row(%arg0, %{{.*}}, %arg1) : (tensor<1x512xf32>, tensor<512x512xbf16>, tensor<1x512xf32>) -> tensor<1x512xf32>
// LANES: call @small(%arg0, %{{.*}}, %arg2) : (tensor<1x512xf32>, tensor<512x511xbf16>, tensor<1x511xf32>) -> tensor<1x511xf32>
// AMX-LABEL: func.func @few
// AMX: call @row(%arg0, %{{.*}}, %arg1) : (tensor<1x512xf32>, tensor<512x512xbf16>, tensor<1x512xf32>) -> tensor<1x512xf32>
// AMX: call @small(%arg0, %{{.*}}, %arg2) : (tensor<1x512xf32>, tensor<512x511xf32>, tensor<1x511xf32>) -> tensor<1x511xf32>
func.func @few(%x: tensor<1x512xf32>, %a: tensor<1x512xf32>, %b: tensor<1x511xf32>) -> (tensor<1x512xf32>, tensor<1x511xf32>)
    attributes {relax.function} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<512x512xf32>} : () -> tensor<512x512xf32>
  %v = "relax.constant"() {value = dense<1.0> : tensor<512x511xf32>} : () -> tensor<512x511xf32>
  %0 = call @row(%x, %w, %a) : (tensor<1x512xf32>, tensor<512x512xf32>, tensor<1x512xf32>) -> tensor<1x512xf32>
  %1 = call @small(%x, %v, %b) : (tensor<1x512xf32>, tensor<512x511xf32>, tensor<1x511xf32>) -> tensor<1x511xf32>
  return %0, %1 : tensor<1x512xf32>, tensor<1x511xf32>
}
// LANES-LABEL: func.func private @row(
// LANES: arith.truncf
// LANES: ins(%{{.*}}, %arg1 : tensor<1x512xbf16>, tensor<512x512xbf16>)
// AMX-LABEL: func.func private @row(
// AMX-NOT: truncf
// AMX: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<1x512xf32>, tensor<512x512xbf16>) outs(%{{.*}} : tensor<1x512xf32>)
// AMX-NEXT: ^bb0(%[[X:.*]]: f32, %[[W:.*]]: bf16, %{{.*}}: f32):
// AMX-NEXT: %[[WIDE:.*]] = arith.extf %[[W]] : bf16 to f32
// AMX-NEXT: arith.mulf %[[X]], %[[WIDE]] : f32
func.func private @row(%x: tensor<1x512xf32>, %w: tensor<512x512xf32>, %out: tensor<1x512xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x512xf32>) -> tensor<1x512xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<1x512xf32>, tensor<512x512xf32>) outs(%0 : tensor<1x512xf32>) -> tensor<1x512xf32>
  return %1 : tensor<1x512xf32>
}
func.func private @small(%x: tensor<1x512xf32>, %w: tensor<512x511xf32>, %out: tensor<1x511xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x511xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x511xf32>) -> tensor<1x511xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<1x512xf32>, tensor<512x511xf32>) outs(%0 : tensor<1x511xf32>) -> tensor<1x511xf32>
  return %1 : tensor<1x511xf32>
}

// Pairs are faster from two rows on, on matrices and in the lanes of vectors; in these also of one row.
// AMX-LABEL: func.func @some
// AMX: call @rows({{.*}}) : (tensor<3x512xf32>, tensor<512x511xbf16>, tensor<3x511xf32>)
// LANES-LABEL: func.func @some
// LANES: call @rows({{.*}}) : (tensor<3x512xf32>, tensor<512x511xbf16>, tensor<3x511xf32>)
// LANES-LABEL: func.func private @rows(
// LANES: arith.truncf
// LANES: ins(%{{.*}}, %arg1 : tensor<3x512xbf16>, tensor<512x511xbf16>)
func.func @some(%x: tensor<3x512xf32>, %b: tensor<3x511xf32>) -> tensor<3x511xf32> attributes {relax.function} {
  %v = "relax.constant"() {value = dense<1.0> : tensor<512x511xf32>} : () -> tensor<512x511xf32>
  %0 = call @rows(%x, %v, %b) : (tensor<3x512xf32>, tensor<512x511xf32>, tensor<3x511xf32>) -> tensor<3x511xf32>
  return %0 : tensor<3x511xf32>
}
func.func private @rows(%x: tensor<3x512xf32>, %w: tensor<512x511xf32>, %out: tensor<3x511xf32> {tir.out, bufferization.writable = true})
    -> tensor<3x511xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<3x511xf32>) -> tensor<3x511xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<3x512xf32>, tensor<512x511xf32>) outs(%0 : tensor<3x511xf32>) -> tensor<3x511xf32>
  return %1 : tensor<3x511xf32>
}

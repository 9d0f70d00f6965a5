// RUN: legato-opt %s --tir-copy-for-rows='target=nvvm{chip=sm_75}' | filecheck %s
// RUN: legato-opt %s --tir-copy-for-rows | filecheck %s --check-prefix=TIMED

// Where copies are asynchronous, forms of f32 are by the model of their time: of rows, of results where columns are unknown, too, and of images.
// TIMED: @product_1_row(
// TIMED: @product_128_rows(
// TIMED-SAME: tir.form_of = @product, tir.prim_func, tir.rows = array<i64: 128, -1>
// TIMED: @product(
// TIMED: @narrow_1_row(
// TIMED: @narrow_1024_rows(
// TIMED: @narrow(
// TIMED: @known(
// TIMED: @two_262144_rows(
// TIMED: @two_1048576_rows(
// TIMED: @two(
// TIMED: @other(
// TIMED: @images_1_row(
// TIMED: @images_16_rows(
// TIMED: @images(
// TIMED-NOT: tir.form_of

// One row, with sizes that are known, and many: 128 x 128 tiles of 3072 columns are 24, and 6 along the rows leave 128 blocks.
// CHECK: func.func private @product_1_row(%{{.*}}: tensor<1x768xf32>, %{{.*}}: tensor<768x3072xf32>, %{{.*}}: tensor<1x3072xf32> {tir.out})
// CHECK-SAME: -> tensor<1x3072xf32> attributes {tir.form_of = @product, tir.prim_func, tir.rows = array<i64: 1, 1>}
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<1x768xf32>, tensor<768x3072xf32>) outs(%{{.*}} : tensor<1x3072xf32>)
// CHECK: func.func private @product_641_rows(%{{.*}}: tensor<?x768xf32>
// CHECK-SAME: tir.form_of = @product, tir.prim_func, tir.rows = array<i64: 641, -1>
// CHECK: func.func private @product(%{{.*}}: tensor<?x768xf32>
// CHECK-SAME: attributes {tir.prim_func}
func.func private @product(%x: tensor<?x768xf32>, %w: tensor<768x3072xf32>, %y: tensor<?x3072xf32> {tir.out}) -> tensor<?x3072xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x3072xf32>) -> tensor<?x3072xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x768xf32>, tensor<768x3072xf32>) outs(%0 : tensor<?x3072xf32>) -> tensor<?x3072xf32>
  return %1 : tensor<?x3072xf32>
}

// The largest tiles would be mostly empty: one row only.
// CHECK: func.func private @narrow_1_row
// CHECK-NOT: _rows
// CHECK: func.func private @narrow(
func.func private @narrow(%x: tensor<?x768xf32>, %w: tensor<768x72xf32>, %y: tensor<?x72xf32> {tir.out}) -> tensor<?x72xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x72xf32>) -> tensor<?x72xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x768xf32>, tensor<768x72xf32>) outs(%0 : tensor<?x72xf32>) -> tensor<?x72xf32>
  return %1 : tensor<?x72xf32>
}

// Known rows; two unknown sizes; no product.
// CHECK-NOT: tir.form_of
func.func private @known(%x: tensor<9x768xf32>, %w: tensor<768x512xf32>, %y: tensor<9x512xf32> {tir.out}) -> tensor<9x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<9x512xf32>) -> tensor<9x512xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<9x768xf32>, tensor<768x512xf32>) outs(%0 : tensor<9x512xf32>) -> tensor<9x512xf32>
  return %1 : tensor<9x512xf32>
}
func.func private @two(%x: tensor<?x768xf32>, %w: tensor<768x?xf32>, %y: tensor<?x?xf32> {tir.out}) -> tensor<?x?xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x768xf32>, tensor<768x?xf32>) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
func.func private @other(%x: tensor<?x768xf32>, %y: tensor<?x768xf32> {tir.out}) -> tensor<?x768xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?x768xf32>) outs(%y : tensor<?x768xf32>) -> tensor<?x768xf32>
  return %0 : tensor<?x768xf32>
}

// Images in an unknown number, of 49 places each: one image has a form, whose depth is shared.
// CHECK: func.func private @images_1_row(%{{.*}}: tensor<1x9x9x512xf32>
// CHECK-SAME: tir.form_of = @images, tir.prim_func, tir.rows = array<i64: 1, 1>
// CHECK-NOT: tir.form_of
// CHECK: func.func private @images(
func.func private @images(%x: tensor<?x9x9x512xf32>, %w: tensor<3x3x512x512xf32>, %y: tensor<?x7x7x512xf32> {tir.out}) -> tensor<?x7x7x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x7x7x512xf32>) -> tensor<?x7x7x512xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<?x9x9x512xf32>, tensor<3x3x512x512xf32>) outs(%0 : tensor<?x7x7x512xf32>) -> tensor<?x7x7x512xf32>
  return %1 : tensor<?x7x7x512xf32>
}

// One image has blocks enough, and the largest tiles, as any number of images has then.
// CHECK-NOT: tir.form_of
func.func private @large(%x: tensor<?x66x258x64xf16>, %w: tensor<3x3x64x128xf16>, %y: tensor<?x64x256x128xf32> {tir.out}) -> tensor<?x64x256x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x64x256x128xf32>) -> tensor<?x64x256x128xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<?x66x258x64xf16>, tensor<3x3x64x128xf16>) outs(%0 : tensor<?x64x256x128xf32>) -> tensor<?x64x256x128xf32>
  return %1 : tensor<?x64x256x128xf32>
}

// An image of unknown sides has none.
// CHECK-NOT: tir.form_of
// CHECK: func.func private @places(
func.func private @places(%x: tensor<1x?x?x64xf16>, %w: tensor<1x1x64x512xf16>, %y: tensor<1x?x?x512xf32> {tir.out}) -> tensor<1x?x?x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<1x?x?x512xf32>) -> tensor<1x?x?x512xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x?x?x64xf16>, tensor<1x1x64x512xf16>) outs(%0 : tensor<1x?x?x512xf32>) -> tensor<1x?x?x512xf32>
  return %1 : tensor<1x?x?x512xf32>
}

// RUN: legato-opt %s --tir-split-many-rows='target=llvm{cpu=sapphirerapids threads=1}' | filecheck %s
// RUN: legato-opt %s --tir-split-many-rows='target=llvm{cpu=sapphirerapids threads=1} surely=true' | filecheck %s --check-prefix=SURELY
// RUN: legato-opt %s --tir-split-many-rows='target=llvm{cpu=znver4}' | filecheck %s --check-prefix=PLAIN

// The form for many rows reads the weight as tir-pack-weights will pack it for the kernel itself, and splits its panels.
// PLAIN-NOT: tir.form_of
// SURELY-NOT: tir.form_of
// CHECK-LABEL: func.func private @product_many_rows(
// CHECK-SAME: %{{.*}}: tensor<?x64xf32>, %{{.*}}: tensor<2x64x1x64xf32>, %{{.*}}: tensor<?x128xf32>
// CHECK-SAME: tir.form_of = @product
// CHECK-SAME: tir.rows = array<i64: 64, -1>
// CHECK: memref.dim %{{.*}} : memref<?x64xf32>
// CHECK: vector.load %{{.*}} : memref<2x64x1x64xf32>, vector<16xf32>
// CHECK: memref.prefetch %{{.*}} : memref<2x64x1x64xf32>
// CHECK: vector.contract {{.*}} : vector<3x32x16x2xf32>, vector<3x16x32x2xf32> into vector<32x32xf32>
// CHECK-LABEL: func.func private @product(
// CHECK-SAME: tensor<64x128xf32>
// CHECK: linalg.matmul
// So has one whose rows have several dimensions in the kernel's arguments and its result, as of images of unknown sizes, and whose weight is
// a view.
// CHECK-LABEL: func.func private @of_images_many_rows(
// CHECK-SAME: %{{.*}}: tensor<?x?x?x64xf32>, %{{.*}}: tensor<2x64x1x64xf32>, %{{.*}}: tensor<?x?x?x128xf32>
// CHECK-SAME: tir.form_of = @of_images
// CHECK: %[[OUT:.*]] = memref.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3]] : memref<?x?x?x128xf32> into memref<?x128xf32>
// CHECK: vector.store %{{.*}}, %[[OUT]]
// CHECK-LABEL: func.func private @of_images(
// CHECK-SAME: tensor<1x1x64x128xf32>
// One of known rows, one of a weight that is no constant, and one of a constant in the kernel have no second form.
// CHECK-NOT: tir.form_of
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x128xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<64x128xf32>} : () -> tensor<64x128xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %1 = tensor.empty(%n) : tensor<?x128xf32>
  %2 = func.call @product(%x, %0, %1) : (tensor<?x64xf32>, tensor<64x128xf32>, tensor<?x128xf32>) -> tensor<?x128xf32>
  return %2 : tensor<?x128xf32>
}
func.func private @product(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %y: tensor<?x128xf32> {tir.out}) -> tensor<?x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x128xf32>) -> tensor<?x128xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x128xf32>) outs(%0 : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %1 : tensor<?x128xf32>
}
func.func @others(%x: tensor<?x64xf32>, %y: tensor<96x64xf32>, %w: tensor<64x128xf32>) -> (tensor<?x128xf32>, tensor<96x128xf32>) {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<64x128xf32>} : () -> tensor<64x128xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %1 = tensor.empty(%n) : tensor<?x128xf32>
  %2 = func.call @given(%x, %w, %1) : (tensor<?x64xf32>, tensor<64x128xf32>, tensor<?x128xf32>) -> tensor<?x128xf32>
  %3 = tensor.empty() : tensor<96x128xf32>
  %4 = func.call @known(%y, %0, %3) : (tensor<96x64xf32>, tensor<64x128xf32>, tensor<96x128xf32>) -> tensor<96x128xf32>
  return %2, %4 : tensor<?x128xf32>, tensor<96x128xf32>
}
func.func private @given(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %y: tensor<?x128xf32> {tir.out}) -> tensor<?x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x128xf32>) -> tensor<?x128xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x128xf32>) outs(%0 : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %1 : tensor<?x128xf32>
}
func.func private @known(%x: tensor<96x64xf32>, %w: tensor<64x128xf32>, %y: tensor<96x128xf32> {tir.out}) -> tensor<96x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<96x128xf32>) -> tensor<96x128xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<96x64xf32>, tensor<64x128xf32>) outs(%0 : tensor<96x128xf32>) -> tensor<96x128xf32>
  return %1 : tensor<96x128xf32>
}
func.func @of_constant(%x: tensor<?x64xf32>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %1 = tensor.empty(%n) : tensor<?x128xf32>
  %2 = func.call @constant(%x, %1) : (tensor<?x64xf32>, tensor<?x128xf32>) -> tensor<?x128xf32>
  return %2 : tensor<?x128xf32>
}
func.func private @constant(%x: tensor<?x64xf32>, %y: tensor<?x128xf32> {tir.out}) -> tensor<?x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<2.0> : tensor<64x128xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x128xf32>) -> tensor<?x128xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x128xf32>) outs(%0 : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %1 : tensor<?x128xf32>
}
func.func @images(%x: tensor<?x?x?x64xf32>, %y: tensor<?x?x?x128xf32>) -> tensor<?x?x?x128xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<1x1x64x128xf32>} : () -> tensor<1x1x64x128xf32>
  %1 = func.call @of_images(%x, %0, %y) : (tensor<?x?x?x64xf32>, tensor<1x1x64x128xf32>, tensor<?x?x?x128xf32>) -> tensor<?x?x?x128xf32>
  return %1 : tensor<?x?x?x128xf32>
}
func.func private @of_images(%x: tensor<?x?x?x64xf32>, %w: tensor<1x1x64x128xf32>, %y: tensor<?x?x?x128xf32> {tir.out}) -> tensor<?x?x?x128xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %y, %c0 : tensor<?x?x?x128xf32>
  %h = tensor.dim %y, %c1 : tensor<?x?x?x128xf32>
  %v = tensor.dim %y, %c2 : tensor<?x?x?x128xf32>
  %rows = tensor.collapse_shape %x [[0, 1, 2], [3]] : tensor<?x?x?x64xf32> into tensor<?x64xf32>
  %weight = tensor.collapse_shape %w [[0, 1, 2], [3]] : tensor<1x1x64x128xf32> into tensor<64x128xf32>
  %out = tensor.collapse_shape %y [[0, 1, 2], [3]] : tensor<?x?x?x128xf32> into tensor<?x128xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x128xf32>) -> tensor<?x128xf32>
  %1 = linalg.matmul ins(%rows, %weight : tensor<?x64xf32>, tensor<64x128xf32>) outs(%0 : tensor<?x128xf32>) -> tensor<?x128xf32>
  %2 = tensor.expand_shape %1 [[0, 1, 2], [3]] output_shape [%n, %h, %v, 128] : tensor<?x128xf32> into tensor<?x?x?x128xf32>
  return %2 : tensor<?x?x?x128xf32>
}

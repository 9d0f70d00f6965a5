// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=znver4}' | filecheck %s
// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=znver5}' | filecheck %s --check-prefix=PLAIN
// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=znver4 threads=2}' | filecheck %s --check-prefix=THREADS
// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=x86-64-v3}' | filecheck %s --check-prefix=FIRST

// PLAIN-NOT: scf.for
// Calls give the kernel the weight in panels of 64 columns.
// CHECK-LABEL: func.func @main(
// CHECK: call @known(%{{.*}}) : (tensor<500x768xf32>, tensor<24x768x1x64xf32>, tensor<500x1536xf32>)

// The sums of rows, in tiles of 10, of two blocks of the depth: seven factors of half of a block, whose rows are an odd number of vectors
// apart.
// CHECK-LABEL: func.func private @known(
// CHECK-SAME: %{{.*}}: tensor<500x768xf32>, %{{.*}}: tensor<24x768x1x64xf32>
// CHECK: memref.alloc() {{.*}} : memref<2x25x7x10x208xf32>
// CHECK: memref.alloc() {{.*}} : memref<2x192x64xf32>
// CHECK-COUNT-7: vector.store %{{.*}} : memref<2x25x7x10x208xf32>
// For each pair of tiles of columns, block of the depth and pair of tiles of rows: where the rows are about as great as each other, there are
// seven products by the weight or by sums at hand, or by a difference of a quarter and another or a sum, which is kept.
// CHECK: scf.for %{{.*}} = %{{.*}} to %c24 step
// CHECK: scf.for %{{.*}} = %{{.*}} to %c2 step
// CHECK: scf.for %{{.*}} = %{{.*}} to %c25 step %{{.*}} iter_args(%[[ARE_SUMMED:.*]] = %false) -> (i1)
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %{{.*}} to %c7 step
// CHECK: %[[RIGHT:.*]] = arith.select %[[IS_WEIGHT:.*]], %{{.*}}, %{{.*}} : memref<?xf32>
// CHECK: %[[AT_HAND:.*]] = arith.ori %[[IS_WEIGHT]], %[[ARE_SUMMED]]
// CHECK: scf.if %[[AT_HAND]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %c192 step %{{.*}} iter_args
// CHECK: vector.load %[[RIGHT]]
// CHECK: } else {
// CHECK: %[[LESS:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : memref<?xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c192 step %{{.*}} iter_args
// CHECK: vector.load %[[LESS]]
// CHECK: arith.subf
// CHECK: vector.store %{{.*}} : memref<2x192x64xf32>
// Blocks are added up; else the rows are multiplied plainly, and as a whole.
// CHECK-COUNT-4: vector.load %{{.*}} : memref<25x20x64xf32>
// CHECK-COUNT-4: vector.store %{{.*}} : memref<25x20x64xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c768 step %{{.*}} iter_args

// A kernel of an unknown number of rows gets a form for many.
// CHECK-LABEL: func.func private @unknown_in_sums(
// CHECK-SAME: tir.form_of = @unknown
// CHECK-SAME: tir.rows = array<i64: {{[0-9]+}}, -1>
// CHECK-LABEL: func.func private @unknown(
// CHECK: linalg.matmul
// One of a weight that is no constant is left.
// CHECK-LABEL: func.func private @given(
// CHECK: linalg.matmul

// Where registers are few, columns are summed before any rows are multiplied, and steps fetch those of later ones.
// FIRST-LABEL: func.func private @known(
// FIRST: arith.subf %{{.*}} : vector<8xf32>
// FIRST: scf.for %{{.*}} iter_args(%{{.*}} = %true) -> (i1)
// FIRST: memref.prefetch %{{.*}}, read, locality<3>, data : memref<?xf32>

// What is added to a product is fetched before the products of its rows.
// CHECK-LABEL: func.func private @added(
// CHECK-SAME: tensor<24x768x1x64xf32>, %[[RESIDUAL:[a-z0-9]*]]: tensor<500x1536xf32>
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer %[[RESIDUAL]]
// CHECK: memref.prefetch %[[BUFFER]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %c7 step
// CHECK: vector.load %[[BUFFER]]

// THREADS-LABEL: func.func private @known(
// THREADS: scf.parallel
func.func @main(%x: tensor<500x768xf32>, %z: tensor<?x768xf32>, %v: tensor<768x1536xf32>) -> (tensor<500x1536xf32>, tensor<?x1536xf32>, tensor<500x1536xf32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<768x1536xf32>} : () -> tensor<768x1536xf32>
  %0 = tensor.empty() : tensor<500x1536xf32>
  %1 = func.call @known(%x, %w, %0) : (tensor<500x768xf32>, tensor<768x1536xf32>, tensor<500x1536xf32>) -> tensor<500x1536xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %z, %c0 : tensor<?x768xf32>
  %2 = tensor.empty(%n) : tensor<?x1536xf32>
  %3 = func.call @unknown(%z, %w, %2) : (tensor<?x768xf32>, tensor<768x1536xf32>, tensor<?x1536xf32>) -> tensor<?x1536xf32>
  %4 = func.call @given(%x, %v, %0) : (tensor<500x768xf32>, tensor<768x1536xf32>, tensor<500x1536xf32>) -> tensor<500x1536xf32>
  %5 = func.call @added(%x, %w, %1, %0) : (tensor<500x768xf32>, tensor<768x1536xf32>, tensor<500x1536xf32>, tensor<500x1536xf32>) -> tensor<500x1536xf32>
  return %5, %3, %4 : tensor<500x1536xf32>, tensor<?x1536xf32>, tensor<500x1536xf32>
}
func.func private @known(%x: tensor<500x768xf32>, %w: tensor<768x1536xf32>, %y: tensor<500x1536xf32> {tir.out}) -> tensor<500x1536xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<500x1536xf32>) -> tensor<500x1536xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<500x768xf32>, tensor<768x1536xf32>) outs(%0 : tensor<500x1536xf32>) -> tensor<500x1536xf32>
  return %1 : tensor<500x1536xf32>
}
func.func private @unknown(%x: tensor<?x768xf32>, %w: tensor<768x1536xf32>, %y: tensor<?x1536xf32> {tir.out}) -> tensor<?x1536xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x1536xf32>) -> tensor<?x1536xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x768xf32>, tensor<768x1536xf32>) outs(%0 : tensor<?x1536xf32>) -> tensor<?x1536xf32>
  return %1 : tensor<?x1536xf32>
}
func.func private @given(%x: tensor<500x768xf32>, %w: tensor<768x1536xf32>, %y: tensor<500x1536xf32> {tir.out}) -> tensor<500x1536xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<500x1536xf32>) -> tensor<500x1536xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<500x768xf32>, tensor<768x1536xf32>) outs(%0 : tensor<500x1536xf32>) -> tensor<500x1536xf32>
  return %1 : tensor<500x1536xf32>
}
func.func private @added(%x: tensor<500x768xf32>, %w: tensor<768x1536xf32>, %r: tensor<500x1536xf32>, %y: tensor<500x1536xf32> {tir.out}) -> tensor<500x1536xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%y : tensor<500x1536xf32>) -> tensor<500x1536xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<500x768xf32>, tensor<768x1536xf32>) outs(%0 : tensor<500x1536xf32>) -> tensor<500x1536xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%1, %r : tensor<500x1536xf32>, tensor<500x1536xf32>) outs(%y : tensor<500x1536xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %3 = arith.addf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<500x1536xf32>
  return %2 : tensor<500x1536xf32>
}

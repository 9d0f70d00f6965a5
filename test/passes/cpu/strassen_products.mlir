// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=znver4}' | filecheck %s
// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=znver5}' | filecheck %s --check-prefix=PLAIN
// RUN: legato-opt %s --tir-strassen-products='target=llvm{cpu=znver4 threads=2}' | filecheck %s --check-prefix=THREADS

// PLAIN-NOT: scf.for
// Calls give the kernel the weight in panels of 64 columns.
// CHECK-LABEL: func.func @main(
// CHECK: call @known(%{{.*}}) : (tensor<500x768xf32>, tensor<24x768x1x64xf32>, tensor<500x1536xf32>)

// The sums of rows, in tiles of 10: seven factors of half of the depth, whose rows are an odd number of vectors apart.
// CHECK-LABEL: func.func private @known(
// CHECK-SAME: %{{.*}}: tensor<500x768xf32>, %{{.*}}: tensor<24x768x1x64xf32>
// CHECK: memref.alloc() {{.*}} : memref<[[PAIRS:[0-9]+]]x7x10x400xf32>
// CHECK-COUNT-7: vector.store %{{.*}} : memref<[[PAIRS]]x7x10x400xf32>
// Those of the halves of a panel.
// CHECK-COUNT-4: vector.store %{{.*}} : memref<4x384x32xf32>
// Where the rows of a pair of tiles are about as great as each other, they are multiplied seven times, by sums or the weight, else plainly.
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %{{.*}} to %c7 step
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %{{.*}} to %c384 step %{{.*}} iter_args
// CHECK: vector.load %{{.*}} : memref<4x384x32xf32>
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %{{.*}} to %c384 step %{{.*}} iter_args
// CHECK: vector.load %{{.*}} : memref<24x768x1x64xf32>
// CHECK: } else {
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
  return %1, %3, %4 : tensor<500x1536xf32>, tensor<?x1536xf32>, tensor<500x1536xf32>
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

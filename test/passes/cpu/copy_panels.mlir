// RUN: legato-opt %s --tir-copy-panels='target=llvm{cpu=x86-64-v4 threads=1}' | filecheck %s
// RUN: legato-opt %s --tir-copy-panels='target=llvm{cpu=x86-64-v3 threads=1}' | filecheck %s --check-prefix=AVX2
// RUN: legato-opt %s --tir-copy-panels='target=llvm{cpu=x86-64-v4 threads=2}' | filecheck %s --check-prefix=THREADS

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#t = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A panel is three vectors of columns, copied row by row; the last has zeros behind column 1024. 100 rows are tiles of eight, and four.
// CHECK-LABEL: func.func private @plain(
// CHECK-NOT: linalg
// CHECK: memref.alloc() {{.*}} : memref<208x48xf32>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c22{{.*}} step
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c200{{.*}} step
// CHECK-COUNT-3: vector.store %{{.*}} : memref<208x48xf32>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c96{{.*}} step %c8
// CHECK: scf.for %{{.*}} = %{{.*}} to %c200{{.*}} step
// CHECK-COUNT-3: vector.load %{{.*}} : memref<208x48xf32>
// CHECK-COUNT-24: math.fma
// CHECK-COUNT-12: math.fma
// CHECK-NOT: math.fma
// Tiles of AVX2 are six rows by two vectors.
// AVX2-LABEL: func.func private @plain(
// AVX2: memref.alloc() {{.*}} : memref<200x16xf32>
// AVX2-COUNT-12: math.fma
// Threads share the panels.
// THREADS-LABEL: func.func private @plain(
// THREADS: scf.parallel
func.func private @plain(%x: tensor<100x200xf32>, %w: tensor<200x1024xf32>, %out: tensor<100x1024xf32> {tir.out, bufferization.writable = true})
    -> tensor<100x1024xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<100x1024xf32>) -> tensor<100x1024xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<100x200xf32>, tensor<200x1024xf32>) outs(%0 : tensor<100x1024xf32>) -> tensor<100x1024xf32>
  return %1 : tensor<100x1024xf32>
}

// Of a matrix that is turned, squares are transposed.
// CHECK-LABEL: func.func private @turned(
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2048{{.*}} step %c16
// CHECK-COUNT-16: vector.load %{{.*}} : memref<1024x2048xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}} : memref<2048x48xf32>
func.func private @turned(%x: tensor<512x2048xf32>, %w: tensor<1024x2048xf32>, %out: tensor<512x1024xf32> {tir.out, bufferization.writable = true})
    -> tensor<512x1024xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %1 = linalg.matmul indexing_maps = [#a, #t, #c] ins(%x, %w : tensor<512x2048xf32>, tensor<1024x2048xf32>) outs(%0 : tensor<512x1024xf32>)
      -> tensor<512x1024xf32>
  return %1 : tensor<512x1024xf32>
}

// A kernel of an unknown number of rows gets a form for many.
// CHECK-LABEL: func.func private @unknown_in_panels(
// CHECK-SAME: tir.form_of = @unknown, {{.*}}tir.rows = array<i64: 64, -1>
// CHECK: math.fma
// CHECK-LABEL: func.func private @unknown(
// CHECK: linalg.matmul
func.func private @unknown(%x: tensor<?x200xf32>, %w: tensor<200x1024xf32>, %out: tensor<?x1024xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x1024xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x200xf32>, tensor<200x1024xf32>) outs(%0 : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  return %1 : tensor<?x1024xf32>
}

// Few rows are left to tir-schedule, and rows that are no multiple of a page apart, of a matrix that is not large.
// CHECK-LABEL: func.func private @few(
// CHECK: linalg.matmul
func.func private @few(%x: tensor<63x200xf32>, %w: tensor<200x1024xf32>, %out: tensor<63x1024xf32> {tir.out, bufferization.writable = true})
    -> tensor<63x1024xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<63x1024xf32>) -> tensor<63x1024xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<63x200xf32>, tensor<200x1024xf32>) outs(%0 : tensor<63x1024xf32>) -> tensor<63x1024xf32>
  return %1 : tensor<63x1024xf32>
}

// CHECK-LABEL: func.func private @small(
// CHECK: linalg.matmul
func.func private @small(%x: tensor<100x200xf32>, %w: tensor<200x1020xf32>, %out: tensor<100x1020xf32> {tir.out, bufferization.writable = true})
    -> tensor<100x1020xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<100x1020xf32>) -> tensor<100x1020xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<100x200xf32>, tensor<200x1020xf32>) outs(%0 : tensor<100x1020xf32>) -> tensor<100x1020xf32>
  return %1 : tensor<100x1020xf32>
}

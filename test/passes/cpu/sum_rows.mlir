// RUN: legato-opt %s --tir-sum-rows='target=llvm{cpu=x86-64-v4 threads=1}' | filecheck %s
// RUN: legato-opt %s --tir-sum-rows='target=llvm{cpu=x86-64-v4 threads=2}' | filecheck %s --check-prefix=THREADS

// Six rows are added to the sums of a block of 2048 columns at a time, then the two that are left of 200; column 3000 is in a vector under a
// mask.
// CHECK-LABEL: func.func private @kernel
// CHECK-NOT: linalg
// CHECK: memref.alloc() {{.*}} : memref<1x2048xf32>
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2{{.*}} step
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c198{{.*}} step %c6
// CHECK-COUNT-6: memref.load %{{.*}} : memref<1x200xf32>
// CHECK: scf.for
// CHECK-COUNT-6: math.fma
// CHECK: scf.if
// CHECK-COUNT-6: vector.maskedload
// CHECK: scf.for
// CHECK-COUNT-2: math.fma
// CHECK: vector.maskedstore {{.*}} : memref<1x3001xf32>
// Threads share the columns: each has one block.
// THREADS-LABEL: func.func private @kernel
// THREADS: scf.parallel
// THREADS: memref.alloc() {{.*}} : memref<1x1504xf32>
func.func private @kernel(%x: tensor<1x200xf32>, %w: tensor<200x3001xf32>, %out: tensor<1x3001xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x3001xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x3001xf32>) -> tensor<1x3001xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<1x200xf32>, tensor<200x3001xf32>) outs(%0 : tensor<1x3001xf32>) -> tensor<1x3001xf32>
  return %1 : tensor<1x3001xf32>
}

// Two rows are left to tir-schedule, and matrices that are small.
// CHECK-LABEL: func.func private @two
// CHECK: linalg.matmul
func.func private @two(%x: tensor<2x200xf32>, %w: tensor<200x3001xf32>, %out: tensor<2x3001xf32> {tir.out, bufferization.writable = true})
    -> tensor<2x3001xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<2x3001xf32>) -> tensor<2x3001xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<2x200xf32>, tensor<200x3001xf32>) outs(%0 : tensor<2x3001xf32>) -> tensor<2x3001xf32>
  return %1 : tensor<2x3001xf32>
}

// CHECK-LABEL: func.func private @small
// CHECK: linalg.matmul
func.func private @small(%x: tensor<1x200xf32>, %w: tensor<200x300xf32>, %out: tensor<1x300xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x300xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x300xf32>) -> tensor<1x300xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<1x200xf32>, tensor<200x300xf32>) outs(%0 : tensor<1x300xf32>) -> tensor<1x300xf32>
  return %1 : tensor<1x300xf32>
}

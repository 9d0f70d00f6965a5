// RUN: legato-opt %s --tir-turned-products='target=llvm{cpu=x86-64-v4 threads=1}' | filecheck %s
// RUN: legato-opt %s --tir-turned-products='target=llvm{cpu=x86-64-v3 threads=1}' | filecheck %s --check-prefix=AVX2
// RUN: legato-opt %s --tir-turned-products='target=llvm{cpu=x86-64-v4 threads=2}' | filecheck %s --check-prefix=THREADS

// Twelve rows are two tiles of six, by four columns: their sums are in 24 registers, over six vectors of the depth and one under a mask. The
// lanes of four sums are added up together; behind the last column it is read again.
// CHECK-LABEL: func.func private @kernel
// CHECK-NOT: linalg
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c7{{.*}} step
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c12{{.*}} step %c6
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c4
// CHECK-COUNT-4: arith.minsi %{{.*}}, %c100{{.*}}
// CHECK: scf.for %{{.*}} = %{{.*}} to %c96{{.*}} step %c16
// CHECK-COUNT-24: math.fma
// CHECK-COUNT-10: vector.maskedload
// CHECK-COUNT-24: math.fma
// CHECK-COUNT-6: vector.store %{{.*}} : memref<6x16xf32>, vector<4xf32>
// CHECK: vector.maskedstore {{.*}} : memref<12x101xf32>
// A tile of AVX2 is two rows.
// AVX2-LABEL: func.func private @kernel
// AVX2: scf.for %{{.*}} = %c0{{.*}} to %c12{{.*}} step %c2
// AVX2: scf.for %{{.*}} = %{{.*}} to %c96{{.*}} step %c8
// AVX2-COUNT-8: math.fma
func.func private @kernel(%x: tensor<12x100xf32>, %w: tensor<101x100xf32>, %out: tensor<12x101xf32> {tir.out, bufferization.writable = true})
    -> tensor<12x101xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<12x101xf32>) -> tensor<12x101xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<12x100xf32>, tensor<101x100xf32>) outs(%0 : tensor<12x101xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<12x101xf32>
  return %1 : tensor<12x101xf32>
}

// Threads share the columns of large ones; rows of an unknown number, one of which may be left.
// CHECK-LABEL: func.func private @unknown
// CHECK-COUNT-24: math.fma
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// THREADS-LABEL: func.func private @unknown
// THREADS: scf.parallel
func.func private @unknown(%x: tensor<?x1024xf32>, %w: tensor<128x1024xf32>, %out: tensor<?x128xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x128xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x128xf32>) -> tensor<?x128xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<?x1024xf32>, tensor<128x1024xf32>) outs(%0 : tensor<?x128xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<?x128xf32>
  return %1 : tensor<?x128xf32>
}

// More rows than half of the depth are left to tir-schedule.
// CHECK-LABEL: func.func private @rows
// CHECK: linalg.generic
func.func private @rows(%x: tensor<60x100xf32>, %w: tensor<64x100xf32>, %out: tensor<60x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<60x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x64xf32>) -> tensor<60x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<60x100xf32>, tensor<64x100xf32>) outs(%0 : tensor<60x64xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %s, %p : f32
    linalg.yield %q : f32
  } -> tensor<60x64xf32>
  return %1 : tensor<60x64xf32>
}

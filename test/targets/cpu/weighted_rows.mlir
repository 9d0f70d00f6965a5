// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4 threads=2}" | filecheck %s --check-prefix=THREADS

// 40 columns are three vectors, of which the last is read and written under a mask; a loop adds the taps.
// CHECK-LABEL: func.func private @kernel_gather_weighted
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-2: tensor.extract {{.*}} : tensor<2x4x701x{{i64|f32}}>
// CHECK-COUNT-3: vector.transfer_read {{.*}} : tensor<2x9x40xf32>, vector<16xf32>
// CHECK-COUNT-3: vector.transfer_write {{.*}} : vector<16xf32>, tensor<2x701x40xf32>
// Two threads have 351 and 350 places of a batch.
// THREADS-LABEL: func.func private @kernel_gather_weighted
// THREADS: scf.forall (%{{.*}}) = (0, 0, 0) to (2, 701, 40) step (1, 351, 40)
// THREADS: arith.minsi
func.func @main(%x: tensor<2x9x40xf32>, %indices: tensor<2x4x701xi64>, %weights: tensor<2x4x701xf32>) -> tensor<2x701x40xf32> {
  %0 = "relax.gather_weighted"(%x, %indices, %weights)
      : (tensor<2x9x40xf32>, tensor<2x4x701xi64>, tensor<2x4x701xf32>) -> tensor<2x701x40xf32>
  return %0 : tensor<2x701x40xf32>
}

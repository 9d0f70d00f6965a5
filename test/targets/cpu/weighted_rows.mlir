// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4 threads=4}" | filecheck %s --check-prefix=THREADS
// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4 threads=2}" | filecheck %s --check-prefix=BATCHES

// 40 columns are three vectors, of which the last is read and written under a mask; a loop adds the taps of two places.
// CHECK-LABEL: func.func private @kernel_gather_weighted
// CHECK: %[[GROUPS:.*]] = arith.constant 3505 : index
// CHECK: scf.for {{.*}} to %[[GROUPS]]
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: tensor.extract {{.*}} : tensor<2x4x7010x{{i64|f32}}>
// CHECK-COUNT-6: vector.transfer_read {{.*}} : tensor<2x9x40xf32>, vector<16xf32>
// CHECK-COUNT-6: vector.fma
// CHECK-COUNT-6: vector.transfer_write {{.*}} : vector<16xf32>, tensor<2x7010x40xf32>
// Four threads have up to 1753 places of a batch; two have a batch each.
// THREADS-LABEL: func.func private @kernel_gather_weighted
// THREADS: scf.forall (%{{.*}}) = (0, 0, 0) to (2, 7010, 40) step (1, 1753, 40)
// THREADS: arith.minsi
// BATCHES-LABEL: func.func private @kernel_gather_weighted
// BATCHES: scf.forall (%{{.*}}) = (0, 0, 0) to (2, 7010, 40) step (1, 7010, 40)
func.func @main(%x: tensor<2x9x40xf32>, %indices: tensor<2x4x7010xi64>, %weights: tensor<2x4x7010xf32>) -> tensor<2x7010x40xf32> {
  %0 = "relax.gather_weighted"(%x, %indices, %weights)
      : (tensor<2x9x40xf32>, tensor<2x4x7010xi64>, tensor<2x4x7010xf32>) -> tensor<2x7010x40xf32>
  return %0 : tensor<2x7010x40xf32>
}

// Of taps that all batches share, and of so few places that they are not shared by threads, rows and weights are found before the loop over the vectors of a row.
// CHECK-LABEL: func.func private @kernel_gather_weighted_0
// THREADS-LABEL: func.func private @kernel_gather_weighted_0
// THREADS-NOT: scf.forall
// CHECK-COUNT-4: tensor.extract {{.*}} : tensor<1x2x7x{{i64|f32}}>
// CHECK: scf.for
// CHECK-COUNT-2: vector.transfer_read {{.*}} : tensor<2x9x80xf32>, vector<16xf32>
func.func @shared(%x: tensor<2x9x80xf32>, %indices: tensor<1x2x7xi64>, %weights: tensor<1x2x7xf32>) -> tensor<2x7x80xf32> {
  %0 = "relax.gather_weighted"(%x, %indices, %weights) : (tensor<2x9x80xf32>, tensor<1x2x7xi64>, tensor<1x2x7xf32>) -> tensor<2x7x80xf32>
  return %0 : tensor<2x7x80xf32>
}

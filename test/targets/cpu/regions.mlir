// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" --split-input-file | filecheck %s
// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4 threads=2}" --split-input-file | filecheck %s --check-prefix=THREADS

// 96 channels are two blocks of three vectors; four pixels beside a point are read.
// CHECK-LABEL: func.func private @kernel_roi_align
// CHECK: scf.for {{.*}} -> (tensor<5x7x7x96xf32>)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-12: vector.transfer_read {{.*}} {in_bounds = [true]} : tensor<1x20x20x96xf32>, vector<16xf32>
// CHECK-COUNT-3: vector.transfer_write {{.*}} {in_bounds = [true]} : vector<16xf32>, tensor<5x7x7x96xf32>
// THREADS-LABEL: func.func private @kernel_roi_align
// THREADS: scf.forall {{.*}} = (0, 0, 0, 0) to (5, 7, 7, 96) step (1, 7, 7, 96)
// THREADS: tensor.parallel_insert_slice
func.func @main(%x: tensor<1x20x20x96xf32>, %regions: tensor<5x4xf32>, %images: tensor<5xi64>) -> tensor<5x7x7x96xf32> {
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 7>, sampling = 2 : i64, channels_last = true}
      : (tensor<1x20x20x96xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x7x7x96xf32>
  return %0 : tensor<5x7x7x96xf32>
}

// -----

// With channels second each element is a loop of its own.
// CHECK-LABEL: func.func private @kernel_roi_align
// CHECK-NOT: vector<
// CHECK: linalg.generic
// CHECK-NOT: vector<
func.func @main(%x: tensor<1x96x20x20xf32>, %regions: tensor<5x4xf32>, %images: tensor<5xi64>) -> tensor<5x96x7x7xf32> {
  %0 = "relax.roi_align"(%x, %regions, %images) {size = array<i64: 7, 7>}
      : (tensor<1x96x20x20xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x96x7x7xf32>
  return %0 : tensor<5x96x7x7xf32>
}

// -----

// 96 channels are two blocks of three vectors; a pixel of a bin is read once.
// CHECK-LABEL: func.func private @kernel_roi_pool
// CHECK: scf.for {{.*}} -> (tensor<5x7x7x96xf32>)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-3: vector.transfer_read {{.*}} {in_bounds = [true]} : tensor<1x20x20x96xf32>, vector<16xf32>
// CHECK-COUNT-3: arith.maximumf
// CHECK-COUNT-3: vector.transfer_write {{.*}} {in_bounds = [true]} : vector<16xf32>, tensor<5x7x7x96xf32>
// THREADS-LABEL: func.func private @kernel_roi_pool
// THREADS: scf.forall {{.*}} = (0, 0, 0, 0) to (5, 7, 7, 96) step (1, 7, 7, 96)
func.func @main(%x: tensor<1x20x20x96xf32>, %regions: tensor<5x4xf32>, %images: tensor<5xi64>) -> tensor<5x7x7x96xf32> {
  %0 = "relax.roi_pool"(%x, %regions, %images) {size = array<i64: 7, 7>, channels_last = true}
      : (tensor<1x20x20x96xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x7x7x96xf32>
  return %0 : tensor<5x7x7x96xf32>
}

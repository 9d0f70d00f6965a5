// RUN: legato-compile %s --target 'llvm{cpu=x86-64-v4 threads=1}' --emit scheduled -q | filecheck %s

// The columns of a matrix that is small go down its rows, 16 at a time: 16 rows of the result are written along.
// CHECK-LABEL: func.func private @kernel_permute_dims(
// CHECK: scf.for %[[COLUMN:.*]] = %c0 to %c64 step %c16
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c4096 step %c16
// CHECK: vector.transfer_read %{{.*}}[%[[ROW]], %[[COLUMN]]]
// CHECK: vector.transpose

// Those of a large one: parts of its rows, of 240 columns where 960 are 60 blocks, and nothing is left of them.
// CHECK-LABEL: func.func private @kernel_permute_dims_0(
// CHECK: scf.for %[[PART:.*]] = %c0 to %c960 step %c240
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c4096 step %c16
// CHECK: scf.for %[[COLUMN:.*]] = %c0 to %c240 step %c16
// CHECK: vector.transfer_read
// CHECK: vector.transpose

// Rows of a few elements are copied eight at a time of those that lie one after the other.
// CHECK-LABEL: func.func private @kernel_permute_dims_1(
// CHECK: scf.for %[[ROWS:.*]] = %c0 to %c1024 step %c8
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1

// Those of 256 bytes are not: each is a few lines of a cache.
// CHECK-LABEL: func.func private @kernel_permute_dims_2(
// CHECK: scf.for %{{.*}} = %c0 to %c1024 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1

// Unknown columns are read in parts, too.
// CHECK-LABEL: func.func private @kernel_permute_dims_3(
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c256
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c16
// CHECK: vector.transpose
func.func @main(%a: tensor<4096x64xf32>, %b: tensor<4096x960xf32>, %c: tensor<64x1024x8xf32>, %d: tensor<16x1024x64xf32>,
                %e: tensor<64x?xf32, #relax.dims<[64, "n"]>>)
    -> (tensor<64x4096xf32>, tensor<960x4096xf32>, tensor<1024x64x8xf32>, tensor<1024x16x64xf32>, tensor<?x64xf32, #relax.dims<["n", 64]>>) {
  %0 = "relax.permute_dims"(%a) {axes = array<i64: 1, 0>} : (tensor<4096x64xf32>) -> tensor<64x4096xf32>
  %1 = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<4096x960xf32>) -> tensor<960x4096xf32>
  %2 = "relax.permute_dims"(%c) {axes = array<i64: 1, 0, 2>} : (tensor<64x1024x8xf32>) -> tensor<1024x64x8xf32>
  %3 = "relax.permute_dims"(%d) {axes = array<i64: 1, 0, 2>} : (tensor<16x1024x64xf32>) -> tensor<1024x16x64xf32>
  %4 = "relax.permute_dims"(%e) {axes = array<i64: 1, 0>} : (tensor<64x?xf32, #relax.dims<[64, "n"]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %0, %1, %2, %3, %4 : tensor<64x4096xf32>, tensor<960x4096xf32>, tensor<1024x64x8xf32>, tensor<1024x16x64xf32>,
                              tensor<?x64xf32, #relax.dims<["n", 64]>>
}

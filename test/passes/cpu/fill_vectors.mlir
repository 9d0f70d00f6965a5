// RUN: legato-opt %s --tir-fill-vectors | filecheck %s

#left = affine_map<(i, j, k) -> (i, k)>
#right = affine_map<(i, j, k) -> (k, j)>
#sums = affine_map<(i, j, k) -> (i, j)>
#product = {indexing_maps = [#left, #right, #sums], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}

// 13 columns are those of a vector of 16: of the factor that has them, the sums that the loop carries, a bias that is repeated, and what is
// computed of them. The other factor stays.
// CHECK-LABEL: func.func private @columns(
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4x16xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %[[ZERO]]) -> (vector<4x16xf32>) {
// CHECK:   %[[X:.*]] = vector.transfer_read %arg0[{{.*}} {in_bounds = [true, true]} : memref<4x9xf32>, vector<4x1xf32>
// CHECK:   %[[MASK:.*]] = vector.constant_mask [13] : vector<16xi1>
// CHECK:   %[[W:.*]] = vector.transfer_read %arg1[{{.*}}], %{{.*}}, %[[MASK]] {in_bounds = [true]} : memref<9x13xf32>, vector<16xf32>
// CHECK:   %[[ROW:.*]] = vector.shape_cast %[[W]] : vector<16xf32> to vector<1x16xf32>
// CHECK:   vector.contract {{.*}} %[[X]], %[[ROW]], %[[SO_FAR]] : vector<4x1xf32>, vector<1x16xf32> into vector<4x16xf32>
// CHECK: %[[SHORT:.*]] = vector.constant_mask [13] : vector<16xi1>
// CHECK: %[[BIAS:.*]] = vector.transfer_read %arg2[{{.*}}], %{{.*}}, %[[SHORT]] {in_bounds = [true, true], permutation_map = #{{.*}}} : memref<13xf32>, vector<4x16xf32>
// CHECK: %[[Y:.*]] = arith.addf %[[SUM]], %[[BIAS]] : vector<4x16xf32>
// CHECK: arith.cmpf {{.*}} : vector<4x16xf32>
// CHECK: %[[Z:.*]] = arith.select {{.*}} : vector<4x16xi1>, vector<4x16xf32>
// CHECK: %[[BOTH:.*]] = vector.constant_mask [4, 13] : vector<4x16xi1>
// CHECK: vector.transfer_write %[[Z]], %arg3[{{.*}}], %[[BOTH]] {in_bounds = [true, true]} : vector<4x16xf32>, memref<4x13xf32>
func.func private @columns(%x: memref<4x9xf32>, %w: memref<9x13xf32>, %b: memref<13xf32>, %out: memref<4x13xf32> {tir.out}) attributes {tir.prim_func} {
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<4x13xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%a = %zero) -> (vector<4x13xf32>) {
    %0 = vector.transfer_read %x[%c0, %k], %pad {in_bounds = [true, true]} : memref<4x9xf32>, vector<4x1xf32>
    %1 = vector.transfer_read %w[%k, %c0], %pad {in_bounds = [true]} : memref<9x13xf32>, vector<13xf32>
    %2 = vector.shape_cast %1 : vector<13xf32> to vector<1x13xf32>
    %3 = vector.contract #product %0, %2, %a : vector<4x1xf32>, vector<1x13xf32> into vector<4x13xf32>
    scf.yield %3 : vector<4x13xf32>
  }
  %bias = vector.transfer_read %b[%c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d) -> (0, d)>} : memref<13xf32>, vector<4x13xf32>
  %y = arith.addf %sum, %bias : vector<4x13xf32>
  %is = arith.cmpf ogt, %y, %zero : vector<4x13xf32>
  %z = arith.select %is, %y, %zero : vector<4x13xi1>, vector<4x13xf32>
  vector.transfer_write %z, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x13xf32>, memref<4x13xf32>
  return
}

// The columns may be another dimension than the last: of a transposed result, and of one of two that are as long as each other.
// CHECK-LABEL: func.func private @transposed(
// CHECK: vector.contract {{.*}} into vector<13x16xf32>
// CHECK: vector.transpose {{.*}} : vector<13x16xf32> to vector<16x13xf32>
// CHECK: %[[MASK:.*]] = vector.constant_mask [13, 13] : vector<16x13xi1>
// CHECK: vector.transfer_write {{.*}}, %[[MASK]] {{.*}} : vector<16x13xf32>, memref<13x13xf32>
func.func private @transposed(%x: vector<13x1xf32>, %w: vector<1x4xf32>, %v: memref<1x13xf32>, %out: memref<13x13xf32> {tir.out}) attributes {tir.prim_func} {
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<13x13xf32>
  %c0 = arith.constant 0 : index
  %row = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<1x13xf32>, vector<1x13xf32>
  %y = vector.contract #product %x, %row, %zero : vector<13x1xf32>, vector<1x13xf32> into vector<13x13xf32>
  %t = vector.transpose %y, [1, 0] : vector<13x13xf32> to vector<13x13xf32>
  vector.transfer_write %t, %out[%c0, %c0] {in_bounds = [true, true]} : vector<13x13xf32>, memref<13x13xf32>
  return
}

// Rows of the sums that are computed one by one, as those of convolutions with strides are.
// CHECK-LABEL: func.func private @rows(
// CHECK: %[[ROW:.*]] = vector.extract %{{.*}}[1] : vector<16xf32> from vector<2x16xf32>
// CHECK: vector.contract {{.*}}, %[[ROW]] : vector<1xf32>, vector<1x16xf32> into vector<16xf32>
// CHECK: vector.insert_strided_slice {{.*}} {offsets = [1, 0], strides = [1]} : vector<16xf32> into vector<2x16xf32>
func.func private @rows(%x: vector<1xf32>, %v: memref<1x13xf32>, %out: memref<2x13xf32> {tir.out}) attributes {tir.prim_func} {
  %pad = ub.poison : f32
  %c0 = arith.constant 0 : index
  %sums = vector.transfer_read %out[%c0, %c0], %pad {in_bounds = [true, true]} : memref<2x13xf32>, vector<2x13xf32>
  %w = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<1x13xf32>, vector<1x13xf32>
  %row = vector.extract %sums[1] : vector<13xf32> from vector<2x13xf32>
  %y = vector.contract {indexing_maps = [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>],
                        iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %x, %w, %row
      : vector<1xf32>, vector<1x13xf32> into vector<13xf32>
  %all = vector.insert_strided_slice %y, %sums {offsets = [1, 0], strides = [1]} : vector<13xf32> into vector<2x13xf32>
  vector.transfer_write %all, %out[%c0, %c0] {in_bounds = [true, true]} : vector<2x13xf32>, memref<2x13xf32>
  return
}

// What joins the columns needs to know them, and a division by what is in no column may end the process.
// CHECK-LABEL: func.func private @joined(
// CHECK-NOT: constant_mask
// CHECK: return
func.func private @joined(%x: memref<4x1xf32>, %w: memref<1x13xf32>, %out: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
  %pad = ub.poison : f32
  %zero = arith.constant dense<0.0> : vector<4x13xf32>
  %start = arith.constant dense<0.0> : vector<4xf32>
  %c0 = arith.constant 0 : index
  %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x1xf32>, vector<4x1xf32>
  %1 = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : memref<1x13xf32>, vector<1x13xf32>
  %y = vector.contract #product %0, %1, %zero : vector<4x1xf32>, vector<1x13xf32> into vector<4x13xf32>
  %s = vector.multi_reduction <add>, %y, %start [1] : vector<4x13xf32> to vector<4xf32>
  vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<4xf32>, memref<4xf32>
  return
}

// CHECK-LABEL: func.func private @divided(
// CHECK-NOT: constant_mask
// CHECK: return
func.func private @divided(%x: memref<4x1xi32>, %w: memref<1x13xi32>, %d: memref<4x13xi32>, %out: memref<4x13xi32> {tir.out}) attributes {tir.prim_func} {
  %pad = ub.poison : i32
  %zero = arith.constant dense<0> : vector<4x13xi32>
  %c0 = arith.constant 0 : index
  %0 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x1xi32>, vector<4x1xi32>
  %1 = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : memref<1x13xi32>, vector<1x13xi32>
  %2 = vector.transfer_read %d[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x13xi32>, vector<4x13xi32>
  %y = vector.contract #product %0, %1, %zero : vector<4x1xi32>, vector<1x13xi32> into vector<4x13xi32>
  %q = arith.divsi %y, %2 : vector<4x13xi32>
  vector.transfer_write %q, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x13xi32>, memref<4x13xi32>
  return
}

// RUN: legato-opt %s --tir-lower-vectors | filecheck %s

// A matrix product becomes multiply-adds of rows.
// CHECK-LABEL: func.func @product(
// CHECK-NOT: vector.contract
// CHECK-COUNT-6: vector.fma {{.*}} : vector<8xf32>
// CHECK-NOT: vector.fma
func.func @product(%a: vector<2x3xf32>, %b: vector<3x8xf32>, %c: vector<2x8xf32>) -> vector<2x8xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                        iterator_types = ["parallel", "parallel", "reduction"]} %a, %b, %c : vector<2x3xf32>, vector<3x8xf32> into vector<2x8xf32>
  return %0 : vector<2x8xf32>
}

// A reduction of a matrix's rows is one reduction a row.
// CHECK-LABEL: func.func @rows(
// CHECK: vector.reduction <add>, %{{.*}} : vector<8xf32> into f32
// CHECK: vector.reduction <add>, %{{.*}} : vector<8xf32> into f32
func.func @rows(%x: memref<2x8xf32>, %start: vector<2xf32>) -> vector<2xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<2x8xf32>, vector<2x8xf32>
  %1 = vector.multi_reduction <add>, %0, %start [1] : vector<2x8xf32> to vector<2xf32>
  return %1 : vector<2xf32>
}

// Eight rows of eight are transposed in pairs of neighbours, pairs of those, and halves: no shuffle of all 64 elements, of which LLVM makes
// twice as many instructions.
// CHECK-LABEL: func.func @square(
// CHECK-COUNT-8: vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
// CHECK-NOT: vector<64xf32>
// CHECK: return
func.func @square(%x: memref<8x8xf32>, %out: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
  %1 = vector.transpose %0, [1, 0] : vector<8x8xf32> to vector<8x8xf32>
  vector.transfer_write %1, %out[%c0, %c0] {in_bounds = [true, true]} : vector<8x8xf32>, memref<8x8xf32>
  return
}

// RUN: legato-opt %s --tir-lower-dot-products | filecheck %s

// Each row's four bytes are repeated in all lanes; the weight's groups, which lie in a row, are read as one vector.
// CHECK-LABEL: func.func @packed(
// CHECK-DAG: memref.collapse_shape %arg1 {{.*}} : memref<5x16x4xi8> into memref<5x64xi8>
// CHECK-DAG: vector.transfer_read {{.*}} : memref<5x64xi8>, vector<64xi8>
// CHECK-DAG: vector.bitcast {{.*}} : vector<64xi8> to vector<16xi32>
// CHECK: vector.broadcast {{.*}} : i32 to vector<16xi32>
// CHECK: "tir.dot4_u8s8"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
// CHECK: "tir.dot4_u8s8"
// CHECK-NOT: vector.contract
func.func @packed(%a: vector<2x1x4xi8>, %w: memref<5x16x4xi8>, %k: index, %sums: vector<2x16xi32>) -> vector<2x16xi32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %b = vector.transfer_read %w[%k, %c0, %c0], %zero {in_bounds = [true, true]} : memref<5x16x4xi8>, vector<16x4xi8>
  %0 = arith.extui %a : vector<2x1x4xi8> to vector<2x1x4xi32>
  %1 = arith.extsi %b : vector<16x4xi8> to vector<16x4xi32>
  %2 = vector.shape_cast %1 : vector<16x4xi32> to vector<1x16x4xi32>
  %3 = vector.contract {indexing_maps = [affine_map<(m, n, k, q) -> (m, k, q)>, affine_map<(m, n, k, q) -> (k, n, q)>, affine_map<(m, n, k, q) -> (m, n)>],
                        iterator_types = ["parallel", "parallel", "reduction", "reduction"]} %0, %2, %sums : vector<2x1x4xi32>, vector<1x16x4xi32> into vector<2x16xi32>
  return %3 : vector<2x16xi32>
}

// A single row is broadcast before it is multiplied: its bytes are one lane, and the columns' bytes are read at once.
// CHECK-LABEL: func.func @single_row(
// CHECK: %[[W:.*]] = vector.transfer_read {{.*}} : memref<5x64xi8>, vector<64xi8>
// CHECK: %[[LANES:.*]] = vector.bitcast %[[W]] : vector<64xi8> to vector<16xi32>
// CHECK: %[[ROW:.*]] = vector.broadcast %{{.*}} : i32 to vector<16xi32>
// CHECK: "tir.dot4_u8s8"(%[[ROW]], %[[LANES]], %{{.*}})
// CHECK-NOT: vector.contract
func.func @single_row(%a: vector<4xi8>, %w: memref<5x16x4xi8>, %k: index, %sums: vector<16xi32>) -> vector<16xi32> {
  %c0 = arith.constant 0 : index
  %p = arith.constant 0 : i8
  %0 = arith.extui %a : vector<4xi8> to vector<4xi32>
  %1 = vector.transfer_read %w[%k, %c0, %c0], %p {in_bounds = [true, true]} : memref<5x16x4xi8>, vector<16x4xi8>
  %2 = vector.shape_cast %1 : vector<16x4xi8> to vector<16x1x4xi8>
  %3 = arith.extsi %2 : vector<16x1x4xi8> to vector<16x1x4xi32>
  %4 = vector.broadcast %0 : vector<4xi32> to vector<16x1x4xi32>
  %5 = vector.contract {indexing_maps = [affine_map<(n, k, q) -> (n, k, q)>, affine_map<(n, k, q) -> (n, k, q)>, affine_map<(n, k, q) -> (n)>],
                        iterator_types = ["parallel", "reduction", "reduction"], kind = #vector.kind<add>}
      %4, %3, %sums : vector<16x1x4xi32>, vector<16x1x4xi32> into vector<16xi32>
  return %5 : vector<16xi32>
}

// A weight that is not packed is transposed. The unsigned factor comes first.
// CHECK-LABEL: func.func @transposed(
// CHECK: %[[W:.*]] = vector.transpose %arg1, [1, 0] : vector<4x16xi8> to vector<16x4xi8>
// CHECK: %[[CAST:.*]] = vector.shape_cast %[[W]]
// CHECK: %[[LANES:.*]] = vector.bitcast %[[CAST]] : vector<64xi8> to vector<16xi32>
// CHECK: "tir.dot4_u8s8"(%[[LANES]], %{{.*}}, %arg2)
func.func @transposed(%a: vector<4xi8>, %b: vector<4x16xi8>, %sums: vector<16xi32>) -> vector<16xi32> {
  %0 = arith.extsi %a : vector<4xi8> to vector<4xi32>
  %1 = arith.extui %b : vector<4x16xi8> to vector<4x16xi32>
  %2 = vector.contract {indexing_maps = [affine_map<(n, q) -> (q)>, affine_map<(n, q) -> (q, n)>, affine_map<(n, q) -> (n)>],
                        iterator_types = ["parallel", "reduction"]} %0, %1, %sums : vector<4xi32>, vector<4x16xi32> into vector<16xi32>
  return %2 : vector<16xi32>
}

// Integers of 16 bits are summed in pairs.
// CHECK-LABEL: func.func @shorts(
// CHECK: vector.bitcast {{.*}} : vector<16xi16> to vector<8xi32>
// CHECK-COUNT-2: "tir.dot2_s16s16"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
// CHECK-NOT: vector.contract
func.func @shorts(%a: vector<2x1x2xi16>, %w: vector<8x2xi16>, %sums: vector<2x8xi32>) -> vector<2x8xi32> {
  %0 = arith.extsi %a : vector<2x1x2xi16> to vector<2x1x2xi32>
  %1 = arith.extsi %w : vector<8x2xi16> to vector<8x2xi32>
  %2 = vector.shape_cast %1 : vector<8x2xi32> to vector<1x8x2xi32>
  %3 = vector.contract {indexing_maps = [affine_map<(m, n, k, q) -> (m, k, q)>, affine_map<(m, n, k, q) -> (k, n, q)>, affine_map<(m, n, k, q) -> (m, n)>],
                        iterator_types = ["parallel", "parallel", "reduction", "reduction"]} %0, %2, %sums : vector<2x1x2xi32>, vector<1x8x2xi32> into vector<2x8xi32>
  return %3 : vector<2x8xi32>
}

// So are bf16, in f32.
// CHECK-LABEL: func.func @halves(
// CHECK: vector.bitcast {{.*}} : vector<16xbf16> to vector<8xi32>
// CHECK-COUNT-2: "tir.dot2_bf16bf16"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<8xi32>, vector<8xi32>, vector<8xf32>) -> vector<8xf32>
// CHECK-NOT: vector.contract
func.func @halves(%a: vector<2x1x2xbf16>, %w: vector<8x2xbf16>, %sums: vector<2x8xf32>) -> vector<2x8xf32> {
  %0 = arith.extf %a : vector<2x1x2xbf16> to vector<2x1x2xf32>
  %1 = arith.extf %w : vector<8x2xbf16> to vector<8x2xf32>
  %2 = vector.shape_cast %1 : vector<8x2xf32> to vector<1x8x2xf32>
  %3 = vector.contract {indexing_maps = [affine_map<(m, n, k, q) -> (m, k, q)>, affine_map<(m, n, k, q) -> (k, n, q)>, affine_map<(m, n, k, q) -> (m, n)>],
                        iterator_types = ["parallel", "parallel", "reduction", "reduction"]} %0, %2, %sums : vector<2x1x2xf32>, vector<1x8x2xf32> into vector<2x8xf32>
  return %3 : vector<2x8xf32>
}

// f16 has no such instruction.
// CHECK-LABEL: func.func @other_halves(
// CHECK: vector.contract
func.func @other_halves(%a: vector<2xf16>, %b: vector<8x2xf16>, %sums: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.extf %a : vector<2xf16> to vector<2xf32>
  %1 = arith.extf %b : vector<8x2xf16> to vector<8x2xf32>
  %2 = vector.contract {indexing_maps = [affine_map<(n, q) -> (q)>, affine_map<(n, q) -> (n, q)>, affine_map<(n, q) -> (n)>],
                        iterator_types = ["parallel", "reduction"]} %0, %1, %sums : vector<2xf32>, vector<8x2xf32> into vector<8xf32>
  return %2 : vector<8xf32>
}

// Unsigned integers of 16 bits have no instruction, nor have factors of different widths.
// CHECK-LABEL: func.func @no_instruction(
// CHECK-NOT: tir.dot
// CHECK-COUNT-2: vector.contract
func.func @no_instruction(%a: vector<2xi16>, %b: vector<8x2xi16>, %c: vector<2xi8>, %sums: vector<8xi32>) -> vector<8xi32> {
  %0 = arith.extui %a : vector<2xi16> to vector<2xi32>
  %1 = arith.extui %b : vector<8x2xi16> to vector<8x2xi32>
  %2 = arith.extsi %c : vector<2xi8> to vector<2xi32>
  %3 = vector.contract {indexing_maps = [affine_map<(n, q) -> (q)>, affine_map<(n, q) -> (n, q)>, affine_map<(n, q) -> (n)>],
                        iterator_types = ["parallel", "reduction"]} %0, %1, %sums : vector<2xi32>, vector<8x2xi32> into vector<8xi32>
  %4 = vector.contract {indexing_maps = [affine_map<(n, q) -> (q)>, affine_map<(n, q) -> (n, q)>, affine_map<(n, q) -> (n)>],
                        iterator_types = ["parallel", "reduction"]} %2, %1, %3 : vector<2xi32>, vector<8x2xi32> into vector<8xi32>
  return %4 : vector<8xi32>
}

// Factors that are not bytes, and reductions of other lengths, stay.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: tir.dot4
// CHECK-COUNT-2: vector.contract
func.func @others(%a: vector<4xi32>, %b: vector<16x4xi32>, %c: vector<8xi8>, %d: vector<16x8xi8>, %sums: vector<16xi32>) -> vector<16xi32> {
  %0 = vector.contract {indexing_maps = [affine_map<(n, q) -> (q)>, affine_map<(n, q) -> (n, q)>, affine_map<(n, q) -> (n)>],
                        iterator_types = ["parallel", "reduction"]} %a, %b, %sums : vector<4xi32>, vector<16x4xi32> into vector<16xi32>
  %1 = arith.extsi %c : vector<8xi8> to vector<8xi32>
  %2 = arith.extsi %d : vector<16x8xi8> to vector<16x8xi32>
  %3 = vector.contract {indexing_maps = [affine_map<(n, q) -> (q)>, affine_map<(n, q) -> (n, q)>, affine_map<(n, q) -> (n)>],
                        iterator_types = ["parallel", "reduction"]} %1, %2, %0 : vector<8xi32>, vector<16x8xi32> into vector<16xi32>
  return %3 : vector<16xi32>
}

// RUN: legato-opt %s --tir-lower-matrix-products=target=llvm{cpu=sapphirerapids} | filecheck %s
// RUN: legato-opt %s --tir-lower-matrix-products=target=llvm{cpu=x86-64-v4} | filecheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: llvm.x86

// Two by two registers of sums, zeroed before the loop and stored after it. The registers' shapes are set once before all loops.
// CHECK: memref.global "private" constant @legato.tiles_18x32x16 : memref<64xi8> = dense<[1, {{.*}}]> {alignment = 64 : i64}
// CHECK-LABEL: func.func private @product(
// CHECK: memref.get_global @legato.tiles_18x32x16
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: scf.for
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16 {
// CHECK-COUNT-2: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK: "llvm.x86.tileloadd64"
// CHECK-COUNT-2: "llvm.x86.tdpbf16ps"
// CHECK-NOT: vector.contract
// CHECK: }
// CHECK-COUNT-4: "llvm.x86.tilestored64"
// CHECK: }
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK: return
#a = affine_map<(m, n, k, q) -> (m, k, q)>
#b = affine_map<(m, n, k, q) -> (k, n, q)>
#c = affine_map<(m, n, k, q) -> (m, n)>
func.func private @product(%x: memref<18x64x2xbf16>, %w: memref<3x4x1x16x32x2xbf16>, %y: memref<18x96xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : vector<18x32xf32>
  %zero = arith.constant 0.0 : bf16
  scf.for %j = %c0 to %c3 step %c1 {
    %sums = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zeros) -> (vector<18x32xf32>) {
      %block = arith.divui %k, %c16 : index
      %a = vector.transfer_read %x[%c0, %k, %c0], %zero {in_bounds = [true, true, true]} : memref<18x64x2xbf16>, vector<18x16x2xbf16>
      %b = vector.transfer_read %w[%j, %block, %c0, %c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<3x4x1x16x32x2xbf16>, vector<16x32x2xbf16>
      %0 = arith.extf %a : vector<18x16x2xbf16> to vector<18x16x2xf32>
      %1 = arith.extf %b : vector<16x32x2xbf16> to vector<16x32x2xf32>
      %2 = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} %0, %1, %acc
         : vector<18x16x2xf32>, vector<16x32x2xf32> into vector<18x32xf32>
      scf.yield %2 : vector<18x32xf32>
    }
    %n = arith.muli %j, %c32 : index
    vector.transfer_write %sums, %y[%c0, %n] {in_bounds = [true, true]} : vector<18x32xf32>, memref<18x96xf32>
  }
  return
}

// Bytes, by their signs. Sums that start from others are loaded, and sums that a vector op takes are stored in a buffer.
// CHECK-LABEL: func.func private @bytes(
// CHECK: %[[IN:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8x16xi32>
// CHECK: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbusd"
// CHECK: "llvm.x86.tilestored64"
// CHECK: vector.transfer_read %{{.*}} : memref<8x16xi32>, vector<8x16xi32>
// CHECK: arith.addi
func.func private @bytes(%x: memref<8x16x4xi8>, %w: memref<16x16x4xi8>, %y: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %start = vector.transfer_read %y[%c0, %c0], %none {in_bounds = [true, true]} : memref<8x16xi32>, vector<8x16xi32>
  %a = vector.transfer_read %x[%c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<8x16x4xi8>, vector<8x16x4xi8>
  %b = vector.transfer_read %w[%c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<16x16x4xi8>, vector<16x16x4xi8>
  %0 = arith.extui %a : vector<8x16x4xi8> to vector<8x16x4xi32>
  %1 = arith.extsi %b : vector<16x16x4xi8> to vector<16x16x4xi32>
  %2 = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} %0, %1, %start
     : vector<8x16x4xi32>, vector<16x16x4xi32> into vector<8x16xi32>
  %3 = arith.addi %2, %2 : vector<8x16xi32>
  vector.transfer_write %3, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x16xi32>, memref<8x16xi32>
  return
}

// Single groups are for instructions on vectors; other types stay.
// CHECK-LABEL: func.func private @others(
// CHECK: vector.contract
// CHECK-NOT: llvm.x86
func.func private @others(%x: memref<8x1x4xi8>, %w: memref<1x16x4xi8>, %y: memref<8x16xi32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %zeros = arith.constant dense<0> : vector<8x16xi32>
  %a = vector.transfer_read %x[%c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<8x1x4xi8>, vector<8x1x4xi8>
  %b = vector.transfer_read %w[%c0, %c0, %c0], %zero {in_bounds = [true, true, true]} : memref<1x16x4xi8>, vector<1x16x4xi8>
  %0 = arith.extui %a : vector<8x1x4xi8> to vector<8x1x4xi32>
  %1 = arith.extsi %b : vector<1x16x4xi8> to vector<1x16x4xi32>
  %2 = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} %0, %1, %zeros
     : vector<8x1x4xi32>, vector<1x16x4xi32> into vector<8x16xi32>
  vector.transfer_write %2, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x16xi32>, memref<8x16xi32>
  return
}

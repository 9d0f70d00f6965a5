// RUN: legato-opt %s --split-input-file --verify-diagnostics --tir-promote-matrices | filecheck %s

// Two sums in one local buffer become values: filled before a loop, which carries them, and stored behind it.
// CHECK-LABEL: func.func private @sums
// CHECK-NOT: memref.alloca
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8x8xf32>
// CHECK: %[[SUMS:.*]]:2 = scf.for {{.*}} iter_args(%[[LEFT:.*]] = %[[ZERO]], %[[RIGHT:.*]] = %[[ZERO]]) -> (vector<8x8xf32>, vector<8x8xf32>)
// CHECK: %[[A:.*]] = "tir.load_matrix"(%arg0
// CHECK: %[[FIRST:.*]] = "tir.multiply_matrices"(%[[A]], %[[A]], %[[LEFT]])
// CHECK: %[[SECOND:.*]] = "tir.multiply_matrices"(%[[A]], %[[A]], %[[RIGHT]])
// CHECK: scf.yield %[[FIRST]], %[[SECOND]]
// CHECK: "tir.store_matrix"(%[[SUMS]]#1, %arg1
// CHECK: return
func.func private @sums(%x: memref<8x64xf16>, %y: memref<8x8xf32> {tir.out}, %n: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %begin = arith.muli %n, %c8 : index
  %next = arith.addi %begin, %c8 : index
  %local = memref.alloca() : memref<64x64xf32>
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  "tir.store_matrix"(%zero, %local, %c0, %begin) : (vector<8x8xf32>, memref<64x64xf32>, index, index) -> ()
  "tir.store_matrix"(%zero, %local, %c0, %next) : (vector<8x8xf32>, memref<64x64xf32>, index, index) -> ()
  scf.for %k = %c0 to %n step %c1 {
    %a = "tir.load_matrix"(%x, %c0, %k) {turned = false} : (memref<8x64xf16>, index, index) -> vector<8x8xf16>
    %0 = "tir.load_matrix"(%local, %c0, %begin) {turned = false} : (memref<64x64xf32>, index, index) -> vector<8x8xf32>
    %1 = "tir.multiply_matrices"(%a, %a, %0) {tir.factor_types = ["f16", "f16"]} : (vector<8x8xf16>, vector<8x8xf16>, vector<8x8xf32>) -> vector<8x8xf32>
    "tir.store_matrix"(%1, %local, %c0, %begin) : (vector<8x8xf32>, memref<64x64xf32>, index, index) -> ()
    %2 = "tir.load_matrix"(%local, %c0, %next) {turned = false} : (memref<64x64xf32>, index, index) -> vector<8x8xf32>
    %3 = "tir.multiply_matrices"(%a, %a, %2) {tir.factor_types = ["f16", "f16"]} : (vector<8x8xf16>, vector<8x8xf16>, vector<8x8xf32>) -> vector<8x8xf32>
    "tir.store_matrix"(%3, %local, %c0, %next) : (vector<8x8xf32>, memref<64x64xf32>, index, index) -> ()
  }
  %4 = "tir.load_matrix"(%local, %c0, %next) {turned = false} : (memref<64x64xf32>, index, index) -> vector<8x8xf32>
  "tir.store_matrix"(%4, %y, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
  return
}

// -----

// Where matrices lie at places that only a run knows, they cannot be told apart.
func.func private @overlap(%i: index, %y: memref<8x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %local = memref.alloca() : memref<64x64xf32>
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  "tir.store_matrix"(%zero, %local, %c0, %c0) : (vector<8x8xf32>, memref<64x64xf32>, index, index) -> ()
  // expected-error @+1 {{its place overlaps that of another one, or is known only at run time; unroll the loops over matrices}}
  %0 = "tir.load_matrix"(%local, %c0, %i) {turned = false} : (memref<64x64xf32>, index, index) -> vector<8x8xf32>
  "tir.store_matrix"(%0, %y, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
  return
}

// -----

func.func private @single(%y: memref<8x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %local = memref.alloca() {tir.name = "C_local"} : memref<8x8xf32>
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  "tir.store_matrix"(%zero, %local, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
  // expected-error @+1 {{matrices of subgroups cannot stay in the local buffer C_local: memref.load touches single elements of it}}
  %0 = memref.load %local[%c0, %c0] : memref<8x8xf32>
  memref.store %0, %y[%c0, %c0] : memref<8x8xf32>
  return
}

// -----

func.func private @unfilled(%y: memref<8x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %local = memref.alloca() : memref<8x8xf32>
  // expected-error @+1 {{one is read that nothing has written; fill it first}}
  %0 = "tir.load_matrix"(%local, %c0, %c0) {turned = false} : (memref<8x8xf32>, index, index) -> vector<8x8xf32>
  "tir.store_matrix"(%0, %y, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
  return
}

// -----

func.func private @condition(%c: i1, %y: memref<8x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %local = memref.alloca() : memref<8x8xf32>
  %zero = arith.constant dense<0.0> : vector<8x8xf32>
  "tir.store_matrix"(%zero, %local, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
  scf.if %c {
    // expected-error @+1 {{it is accessed inside of scf.if, which not all threads of a subgroup may enter}}
    "tir.store_matrix"(%zero, %local, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
  }
  return
}

// -----

// What the number of the block decides is the same for its threads.
// CHECK-LABEL: func.func private @blocks
// CHECK: scf.if
// CHECK: %[[ZERO:.*]] = arith.constant dense
// CHECK-NEXT: "tir.store_matrix"(%[[ZERO]], %arg0
func.func private @blocks(%y: memref<8x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c32, %gy = %c1, %gz = %c1) threads(%x, %ty, %tz) in (%nx = %c32, %ny = %c1, %nz = %c1) {
    %local = memref.alloca() : memref<8x8xf32>
    %c = arith.cmpi slt, %bx, %c1 : index
    scf.if %c {
      %zero = arith.constant dense<0.0> : vector<8x8xf32>
      "tir.store_matrix"(%zero, %local, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
      %0 = "tir.load_matrix"(%local, %c0, %c0) {turned = false} : (memref<8x8xf32>, index, index) -> vector<8x8xf32>
      "tir.store_matrix"(%0, %y, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
    }
    gpu.terminator
  }
  return
}

// -----

func.func private @threads(%y: memref<8x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c32, %gy = %c1, %gz = %c1) threads(%x, %ty, %tz) in (%nx = %c32, %ny = %c1, %nz = %c1) {
    %local = memref.alloca() : memref<8x8xf32>
    %c = arith.cmpi slt, %x, %c1 : index
    scf.if %c {
      %zero = arith.constant dense<0.0> : vector<8x8xf32>
      // expected-error @+1 {{it is accessed inside of scf.if, which not all threads of a subgroup may enter}}
      "tir.store_matrix"(%zero, %local, %c0, %c0) : (vector<8x8xf32>, memref<8x8xf32>, index, index) -> ()
    }
    gpu.terminator
  }
  return
}

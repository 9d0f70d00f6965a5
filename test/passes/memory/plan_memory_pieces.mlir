// RUN: legato-opt %s --split-input-file --pass-pipeline='tir-plan-memory,canonicalize,cse' | filecheck %s
// Contiguous slices lie where they are cut from, whose memory is in use as long as theirs.

// CHECK-LABEL: func.func @main
// CHECK-SAME: memref<640xi8> {tir.arena}
// CHECK-DAG: %[[BEGIN:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[HALF:.*]] = arith.constant 256 : index
// CHECK-DAG: %[[QUARTER:.*]] = arith.constant 384 : index
// CHECK-DAG: %[[BEHIND:.*]] = arith.constant 512 : index
// CHECK: %[[WHOLE:.*]] = memref.view %{{.*}}[%[[BEGIN]]][] : memref<640xi8> to memref<8x16xf32>
// CHECK: call @k(%arg0, %[[WHOLE]])
// CHECK: %[[FIRST:.*]] = memref.view %{{.*}}[%[[HALF]]][] : memref<640xi8> to memref<4x16xf32>
// CHECK: %[[LAST:.*]] = memref.view %{{.*}}[%[[QUARTER]]][] : memref<640xi8> to memref<2x16xf32>
// CHECK: %[[OTHER:.*]] = memref.view %{{.*}}[%[[BEHIND]]][] : memref<640xi8> to memref<2x16xf32>
// CHECK: call @small(%[[LAST]], %[[OTHER]])
// CHECK: call @both(%[[OTHER]], %[[FIRST]], %arg1)
// CHECK-NOT: func.func private @lower
// CHECK-NOT: func.func private @end
func.func private @k(%a: memref<8x16xf32>, %out: memref<8x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @small(%a: memref<2x16xf32>, %out: memref<2x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @both(%a: memref<2x16xf32>, %b: memref<4x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @lower(%a: memref<8x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func, tir.piece = 256} { return }
func.func private @end(%a: memref<4x16xf32>, %out: memref<2x16xf32> {tir.out}) attributes {tir.prim_func, tir.piece = 128} { return }
func.func @main(%x: memref<8x16xf32>) -> memref<4x16xf32> {
  %0 = memref.alloc() : memref<8x16xf32>
  call @k(%x, %0) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %1 = memref.alloc() : memref<4x16xf32>
  call @lower(%0, %1) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  %2 = memref.alloc() : memref<2x16xf32>
  call @end(%1, %2) : (memref<4x16xf32>, memref<2x16xf32>) -> ()
  %3 = memref.alloc() : memref<2x16xf32>
  call @small(%2, %3) : (memref<2x16xf32>, memref<2x16xf32>) -> ()
  %4 = memref.alloc() : memref<4x16xf32>
  call @both(%3, %1, %4) : (memref<2x16xf32>, memref<4x16xf32>, memref<4x16xf32>) -> ()
  return %4 : memref<4x16xf32>
}

// -----

// Copied: what begins in between two multiples of 64 bytes, a piece that is written to, one of what is written to later, one of an
// argument, and a result.
// CHECK-LABEL: func.func @main
// CHECK: call @between
// CHECK: call @first
// CHECK: call @first
// CHECK: call @first
// CHECK: call @first(%{{.*}}, %arg1)
func.func private @k(%a: memref<8x16xf32>, %out: memref<8x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @small(%a: memref<4x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @all(%a: memref<4x16xf32>, %b: memref<4x16xf32>, %c: memref<4x16xf32>, %d: memref<4x16xf32>, %out: memref<8x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @between(%a: memref<8x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func, tir.piece = 32} { return }
func.func private @first(%a: memref<8x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func, tir.piece = 0} { return }
func.func @main(%x: memref<8x16xf32>) -> memref<4x16xf32> {
  %0 = memref.alloc() : memref<8x16xf32>
  call @k(%x, %0) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %1 = memref.alloc() : memref<4x16xf32>
  call @between(%0, %1) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  %2 = memref.alloc() : memref<4x16xf32>
  call @first(%0, %2) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  call @small(%1, %2) : (memref<4x16xf32>, memref<4x16xf32>) -> ()
  %3 = memref.alloc() : memref<8x16xf32>
  call @k(%0, %3) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %4 = memref.alloc() : memref<4x16xf32>
  call @first(%3, %4) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  call @k(%0, %3) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %5 = memref.alloc() : memref<4x16xf32>
  call @first(%x, %5) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  call @all(%1, %2, %4, %5, %3) : (memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>, memref<8x16xf32>) -> ()
  %6 = memref.alloc() : memref<4x16xf32>
  call @first(%3, %6) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  return %6 : memref<4x16xf32>
}

// RUN: legato-opt %s --split-input-file --pass-pipeline='tir-plan-memory,canonicalize,cse' | filecheck %s
// Contiguous slices lie where they are cut from, whose memory is in use as long as theirs.

// CHECK-LABEL: func.func @main(
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

// Copied: what begins in between two multiples of 64 bytes, a piece that is written to, one of what is written to later, and a result.
// CHECK-LABEL: func.func @main(
// CHECK: call @between
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
  call @all(%1, %2, %4, %2, %3) : (memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>, memref<8x16xf32>) -> ()
  %6 = memref.alloc() : memref<4x16xf32>
  call @first(%3, %6) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  return %6 : memref<4x16xf32>
}

// -----

// Parts of an argument and of a result, which are bytes then; a slice of static sizes, and one of an unknown number of rows.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<512xi8> {relax.name = "arg0"}, %[[Y:.*]]: memref<i8> {relax.name = "arg1"}, %[[OUT:.*]]: memref<512xi8> {relax.name = "out0", tir.out}
// CHECK-DAG: %[[ALL:.*]] = memref.view %[[X]][%c0][] : memref<512xi8> to memref<8x16xf32>
// CHECK-DAG: %[[BYTES:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [%{{.*}}], strides: [1] : memref<i8> to memref<?xi8>
// CHECK-DAG: %[[RESULT:.*]] = memref.view %[[OUT]][%c0][] : memref<512xi8> to memref<8x16xf32>
// CHECK: call @k(%[[ALL]], %[[RESULT]])
// CHECK-DAG: memref.view %[[X]][%c256][] : memref<512xi8> to memref<4x16xf32>
// CHECK-DAG: memref.view %[[BYTES]][%{{.*}}][] : memref<?xi8> to memref<4x16xf32>
// CHECK-DAG: memref.view %[[OUT]][%c256][] : memref<512xi8> to memref<4x16xf32>
// CHECK: call @three
// CHECK-NOT: @lower
func.func private @k(%a: memref<8x16xf32>, %out: memref<8x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @three(%a: memref<4x16xf32>, %b: memref<4x16xf32>, %c: memref<4x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @lower(%a: memref<8x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func, tir.piece = 256} { return }
func.func private @last(%a: memref<?x16xf32>, %out: memref<4x16xf32> {tir.out}) attributes {tir.prim_func, tir.piece = "max(0, x0 - 4) * 64"} { return }
func.func @main(%x: memref<8x16xf32>, %y: memref<?x16xf32>) -> (memref<8x16xf32>, memref<4x16xf32>) {
  %0 = memref.alloc() : memref<8x16xf32>
  call @k(%x, %0) : (memref<8x16xf32>, memref<8x16xf32>) -> ()
  %1 = memref.alloc() : memref<4x16xf32>
  call @lower(%x, %1) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  %2 = memref.alloc() : memref<4x16xf32>
  call @last(%y, %2) : (memref<?x16xf32>, memref<4x16xf32>) -> ()
  %3 = memref.alloc() : memref<4x16xf32>
  call @lower(%0, %3) : (memref<8x16xf32>, memref<4x16xf32>) -> ()
  %4 = memref.alloc() : memref<4x16xf32>
  call @three(%1, %2, %3, %4) : (memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>, memref<4x16xf32>) -> ()
  return %0, %4 : memref<8x16xf32>, memref<4x16xf32>
}

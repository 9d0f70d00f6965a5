// RUN: legato-opt %s --split-input-file --pass-pipeline='tir-plan-memory,tir-lower-packed' --verify-diagnostics | filecheck %s

// A kernel that calls a packed function is given the functions, and gives a code, which main checks; an error leaves its loops.
// CHECK-LABEL: func.func @main(
// CHECK: %[[K:.*]] = call @k(%{{.*}}, %{{.*}}) : (memref<4xf32>, memref<4xf32>, memref<1xi64>) -> i32
// CHECK: cf.cond_br
// CHECK-LABEL: func.func private @k(
// CHECK-SAME: memref<1xi64>) -> i32
// CHECK-NOT: scf.for
// CHECK: %[[CODE:.*]] = call @packed_log(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<1xi64>, memref<4xf32>, index) -> i32
// CHECK: cf.cond_br %{{.*}}, ^bb{{.*}}, ^[[LEAVE:bb.*]](%[[CODE]] : i32)
// CHECK-LABEL: func.func private @packed_log(
// CHECK: call @legato.call_packed
func.func private @packed_log(memref<4xf32>, index) attributes {tir.packed = "t.log", tir.dtypes = ["float32", "index"]}
func.func private @k(%a: memref<4xf32>, %out: memref<4xf32> {tir.out}) attributes {tir.prim_func, tir.state = "written"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    func.call @packed_log(%a, %i) : (memref<4xf32>, index) -> ()
  }
  return
}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  call @k(%x, %0) : (memref<4xf32>, memref<4xf32>) -> ()
  return %0 : memref<4xf32>
}

// -----

func.func private @packed_log(memref<4xf32>, index) attributes {tir.packed = "t.log", tir.dtypes = ["float32", "index"]}
func.func private @k(%a: memref<4xf32>, %out: memref<4xf32> {tir.out}) attributes {tir.prim_func, tir.state = "written"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    // expected-error @below {{the kernel @k calls the packed function 't.log' in a parallel loop}}
    func.call @packed_log(%a, %i) : (memref<4xf32>, index) -> ()
    scf.reduce
  }
  return
}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  call @k(%x, %0) : (memref<4xf32>, memref<4xf32>) -> ()
  return %0 : memref<4xf32>
}

// -----

func.func private @packed_log(memref<4xf32>, index) attributes {tir.packed = "t.log", tir.dtypes = ["float32"]}
func.func private @k(%a: memref<4xf32>, %out: memref<4xf32> {tir.out}) attributes {tir.prim_func, tir.state = "written"} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{the packed function 't.log' (@packed_log) has 2 operands, and tir.dtypes says what 1 of them are}}
  func.call @packed_log(%a, %c0) : (memref<4xf32>, index) -> ()
  return
}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  call @k(%x, %0) : (memref<4xf32>, memref<4xf32>) -> ()
  return %0 : memref<4xf32>
}

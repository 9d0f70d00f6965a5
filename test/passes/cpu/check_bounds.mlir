// RUN: legato-opt %s --split-input-file --tir-check-bounds | filecheck %s
// RUN: not legato-opt %S/Inputs/check_bounds_in_loop.mlir --tir-check-bounds --reproducer=none 2>&1 | filecheck %s --check-prefix=LOOP

// LOOP: an access in a region of scf.for cannot be checked: run the pass after convert-scf-to-cf

// An index goes from 0 to the size; a vector ends there. Main returns after a kernel that reported something.
// CHECK-LABEL: func.func private @kernel(
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK: %[[SEVEN:.*]] = arith.constant 7
// CHECK: %[[LAST:.*]] = arith.addi %arg3, %[[SEVEN]]
// CHECK: %[[LOW:.*]] = arith.cmpi sge, %arg2, %{{.*}}
// CHECK: %[[HIGH:.*]] = arith.cmpi slt, %arg2, %[[N]]
// CHECK: %[[ROW:.*]] = arith.andi %[[LOW]], %[[HIGH]]
// CHECK: arith.cmpi slt, %[[LAST]], %{{.*}}
// CHECK: cf.cond_br %{{.*}}, ^[[GOOD:.*]], ^[[BAD:.*]]
// CHECK: ^[[GOOD]]:
// CHECK: vector.load
// CHECK: ^[[BAD]]:
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @legato.access_0
// CHECK: call @legato.out_of_bounds(%[[TEXT]], %{{.*}}) : (!llvm.ptr, i64, i64, i64, i64) -> ()
// CHECK-NEXT: return
func.func private @kernel(%x: memref<?x12xf32>, %out: memref<8xf32> {tir.out}, %i: index, %j: index) attributes {tir.names = ["x", "y"], tir.prim_func} {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%i, %j] : memref<?x12xf32>, vector<8xf32>
  vector.store %v, %out[%c0] : memref<8xf32>, vector<8xf32>
  return
}
// CHECK-LABEL: func.func @main(
// CHECK: %[[BEFORE:.*]] = call @legato.faults() : () -> i64
// CHECK: call @kernel
// CHECK: %[[NOW:.*]] = call @legato.faults() : () -> i64
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[BEFORE]], %[[NOW]]
// CHECK: cf.cond_br %[[SAME]]
// CHECK: %[[CODE:.*]] = arith.constant -1 : i32
// CHECK: return %[[CODE]]
func.func @main(%x: memref<?x12xf32>, %out: memref<8xf32> {tir.out}, %i: index) -> i32 {
  %c0_i32 = arith.constant 0 : i32
  call @kernel(%x, %out, %i, %i) {relax.ops = ["relax.take pick"]} : (memref<?x12xf32>, memref<8xf32>, index, index) -> ()
  return %c0_i32 : i32
}
// CHECK: llvm.mlir.global internal constant @legato.access_0("kernel 'kernel' (relax.take \22pick\22): vector.load of argument 0 'x', memref<?x12xf32>\00")

// -----

// What lies behind the end is masked: only the beginning matters, and of a mask's lanes those that it has.
// CHECK-LABEL: func.func private @masked
// CHECK: arith.cmpi sge, %arg2
// CHECK-NOT: arith.cmpi slt
// CHECK: vector.transfer_read
// CHECK: %[[PLACES:.*]] = arith.select %arg3, %{{.*}}, %{{.*}} : vector<8xi1>, vector<8xi64>
// CHECK: vector.reduction <minsi>, %[[PLACES]]
// CHECK: vector.reduction <maxsi>, %[[PLACES]]
// CHECK: vector.maskedstore
func.func private @masked(%x: memref<?xf32>, %out: memref<?xf32> {tir.out}, %i: index, %m: vector<8xi1>) attributes {tir.prim_func} {
  %p = ub.poison : f32
  %v = vector.transfer_read %x[%i], %p : memref<?xf32>, vector<8xf32>
  vector.maskedstore %out[%i], %m, %v : memref<?xf32>, vector<8xi1>, vector<8xf32>
  return
}

// -----

// Places of a gather count in the order of memory; views end inside of what they show.
// CHECK-LABEL: func.func private @views
// CHECK: vector.reduction <maxsi>
// CHECK: vector.gather
// CHECK: cf.cond_br
// CHECK: memref.subview
// CHECK: cf.cond_br
// CHECK: memref.copy
func.func private @views(%x: memref<4x8xf32>, %at: vector<8xindex>, %m: vector<8xi1>, %n: index, %out: memref<?x8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %z = arith.constant dense<0.0> : vector<8xf32>
  %v = vector.gather %x[%c0, %c0] [%at], %m, %z : memref<4x8xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  %s = memref.subview %x[%n, 0] [%n, 8] [1, 1] : memref<4x8xf32> to memref<?x8xf32, strided<[8, 1], offset: ?>>
  memref.copy %s, %out : memref<?x8xf32, strided<[8, 1], offset: ?>> to memref<?x8xf32>
  return
}

// -----

// A step of a parallel loop that reports something ends, with the stack that it had.
// CHECK-LABEL: func.func private @parallel
// CHECK: %[[STACK:.*]] = llvm.intr.stacksave
// CHECK: call @legato.out_of_bounds
// CHECK-NEXT: llvm.intr.stackrestore %[[STACK]]
// CHECK-NEXT: omp.yield
func.func private @parallel(%x: memref<?xf32> {tir.out}, %n: index, %f: f32) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%n) step (%c1) {
        %stack = llvm.intr.stacksave : !llvm.ptr
        memref.store %f, %x[%i] : memref<?xf32>
        llvm.intr.stackrestore %stack : !llvm.ptr
        omp.yield
      }
    }
    omp.terminator
  }
  return
}

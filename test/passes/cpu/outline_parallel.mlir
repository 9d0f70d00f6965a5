// RUN: legato-opt %s --tir-outline-parallel --split-input-file | filecheck %s

// The steps of both axes are one range of numbers; constants are copied, other values pass through memory.
// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: (%[[A:.*]]: !llvm.ptr, %[[N:.*]]: i64)
// CHECK: %[[CONTEXT:.*]] = llvm.alloca {{.*}} x !llvm.struct<(ptr, i64)>
// CHECK-DAG: llvm.store %[[A]],
// CHECK-DAG: llvm.store %[[N]],
// CHECK: %[[CODE:.*]] = llvm.mlir.addressof @kernel_part_0
// CHECK: llvm.call @legato.parallel(%[[CODE]], %[[CONTEXT]], %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
// CHECK-NOT: omp.
// CHECK: llvm.return
llvm.func @kernel(%a: !llvm.ptr, %n: i64) attributes {target_cpu = "x86-64-v3", tir.prim_func} {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %f = llvm.mlir.constant(1.0 : f32) : f32
  %t = llvm.mlir.constant(3 : i32) : i32
  omp.parallel num_threads(%t : i32) {
    omp.wsloop {
      omp.loop_nest (%i, %j) : i64 = (%c0, %c0) to (%n, %c8) step (%c2, %c2) {
        %m = llvm.mul %i, %c8 : i64
        %k = llvm.add %m, %j : i64
        %p = llvm.getelementptr %a[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        llvm.store %f, %p : f32, !llvm.ptr
        omp.yield
      }
    }
    omp.terminator
  }
  llvm.return
}
// CHECK: llvm.func internal @kernel_part_0(%[[AT:.*]]: !llvm.ptr, %[[FIRST:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME: target_cpu = "x86-64-v3"
// CHECK-SAME: tir.prim_func, tir.threads = 3
// CHECK: llvm.mlir.constant(1.000000e+00 : f32)
// CHECK: llvm.br ^[[HEAD:.*]](%[[FIRST]] : i64)
// CHECK: ^[[HEAD]](%[[STEP:.*]]: i64):
// CHECK: llvm.icmp "slt" %[[STEP]], %[[END]]
// CHECK: llvm.srem %[[STEP]]
// CHECK: llvm.sdiv %[[STEP]]
// CHECK: llvm.store
// CHECK: llvm.add %[[STEP]]
// CHECK: llvm.br ^[[HEAD]]

// -----

// A reduction among threads is left to OpenMP.
// CHECK-LABEL: llvm.func @reduced
// CHECK: omp.parallel
// CHECK-NOT: legato.parallel
omp.declare_reduction @sum : f32 init {
^bb0(%a: f32):
  %z = llvm.mlir.constant(0.0 : f32) : f32
  omp.yield(%z : f32)
} combiner {
^bb0(%a: f32, %b: f32):
  %s = llvm.fadd %a, %b : f32
  omp.yield(%s : f32)
}
llvm.func @reduced(%a: !llvm.ptr, %n: i64) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  omp.parallel {
    omp.wsloop reduction(@sum %a -> %r : !llvm.ptr) {
      omp.loop_nest (%i) : i64 = (%c0) to (%n) step (%c1) {
        omp.yield
      }
    }
    omp.terminator
  }
  llvm.return
}

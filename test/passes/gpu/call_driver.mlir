// Launches, and what the host does with the device's memory, become calls of the entry's functions for CUDA.
// RUN: legato-opt %s --tir-call-driver --split-input-file --verify-diagnostics | filecheck %s
// RUN: legato-opt %s "--tir-call-driver=target=nvvm{graphs=true cubin=false}" --split-input-file --verify-diagnostics | filecheck %s --check-prefix=GRAPHS

// Where the host reads the device's data between launches, they are no graph.
// GRAPHS: func.func @main(
// GRAPHS-SAME: tir.chip = "sm_80", tir.kernels
// GRAPHS: func.func @main(
// GRAPHS-SAME: tir.chip = "sm_80", tir.graphs, tir.kernels

// The kernel @dense takes a descriptor (1 number, then 5 words of a buffer), @bare one word of it, the address.
// CHECK: func.func private @legato.cuda_launch(index, index, index, index, index)
// CHECK: func.func private @legato.cuda_read(index, index, index, index) -> index
// CHECK: func.func @main(%[[X:.*]]: memref<?xf32>, %[[P:.*]]: memref<i1>, %[[UNDERWAY:.*]]: index {tir.run}) -> i32
// CHECK-SAME: tir.chip = "sm_80", tir.cubin
// CHECK-SAME: tir.kernels = ["dense", "bare"]
// CHECK-SAME: tir.sites = ["the model", "relax.relu a, relax.add b"]
// CHECK: %[[SITE:.*]] = arith.constant 1 : index
// CHECK: call @two(%[[X]], %[[UNDERWAY]], %[[SITE]]) {relax.ops = ["relax.relu a", "relax.add b"]}
// CHECK: %[[AT:.*]] = memref.extract_aligned_pointer_as_index %[[P]]
// CHECK: %[[BITS:.*]] = call @legato.cuda_read(%[[UNDERWAY]],
// CHECK: arith.trunci {{.*}} : i64 to i1
// CHECK: func.func private @two(%[[B:.*]]: memref<?xf32>, %[[R:.*]]: index, %[[S:.*]]: index)
// CHECK-DAG: memref.alloca() : memref<14xi64>
// CHECK-DAG: memref.alloca() : memref<9xi64>
// CHECK: call @legato.cuda_launch(%[[R]], %[[S]],
// CHECK: call @legato.cuda_launch(%[[R]], %[[S]],
// CHECK-NOT: gpu.launch_func
module attributes {gpu.container_module} {
  func.func @main(%x: memref<?xf32>, %p: memref<i1>) -> i32 {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    call @two(%x) {relax.ops = ["relax.relu a", "relax.add b"]} : (memref<?xf32>) -> ()
    %taken = memref.load %p[] : memref<i1>
    %code = arith.select %taken, %zero, %one : i32
    return %code : i32
  }
  func.func private @two(%x: memref<?xf32>) attributes {tir.prim_func} {
    %c1 = arith.constant 1 : index
    %h = arith.constant 1.0 : f16
    gpu.launch_func @dense::@dense blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%h : f16, %x : memref<?xf32>)
    gpu.launch_func @bare::@bare blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    return
  }
  gpu.module @dense {
    llvm.func @dense(%h: f16, %a: !llvm.ptr, %b: !llvm.ptr, %o: i64, %s: i64, %t: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  gpu.module @bare {
    llvm.func @bare(%a: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, tir.passed = array<i64: 1>} {
      llvm.return
    }
  }
}

// -----

// A copy of rows that are contiguous is a loop of copies, and one of whole buffers, wherever they begin, a single one. What main asks of the
// entry itself stays.
// CHECK: func.func private @legato.cuda_copy(index, index, index, index, index) attributes {legato.entry}
// CHECK: func.func @main(
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step
// CHECK: arith.muli %[[I]],
// CHECK: call @legato.cuda_copy(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SIZE:.*]])
// CHECK-NOT: scf.for
// CHECK: call @legato.cuda_copy(
// CHECK: call @legato.late_arena(
// CHECK: return
func.func private @legato.late_arena(index, index) -> memref<i8> attributes {legato.late = "legato.late_arena"}
func.func @main(%x: memref<8x4xf32>, %y: memref<8x4xf32>, %z: memref<2x4xf32>, %n: index) -> i32 {
  %zero = arith.constant 0 : i32
  %part = memref.subview %x[0, 0] [8, 2] [1, 1] : memref<8x4xf32> to memref<8x2xf32, strided<[4, 1]>>
  %other = memref.subview %y[0, 0] [8, 2] [1, 1] : memref<8x4xf32> to memref<8x2xf32, strided<[4, 1]>>
  memref.copy %part, %other : memref<8x2xf32, strided<[4, 1]>> to memref<8x2xf32, strided<[4, 1]>>
  %rows = memref.subview %x[%n, 0] [2, 4] [1, 1] : memref<8x4xf32> to memref<2x4xf32, strided<[4, 1], offset: ?>>
  memref.copy %rows, %z : memref<2x4xf32, strided<[4, 1], offset: ?>> to memref<2x4xf32>
  %m = call @legato.late_arena(%n, %n) : (index, index) -> memref<i8>
  return %zero : i32
}

// -----

func.func @main(%x: memref<8xf32>) -> i32 {
  %zero = arith.constant 0 : i32
  %own = memref.alloca() : memref<8xf32>
  // expected-error @+1 {{a copy between launches takes buffers of the device}}
  memref.copy %own, %x : memref<8xf32> to memref<8xf32>
  return %zero : i32
}

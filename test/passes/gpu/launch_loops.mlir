// RUN: legato-opt %s --tir-launch-loops=target=nvvm --split-input-file --verify-diagnostics | filecheck %s

// One thread for each point, 128 in a block; what stands outside of parallel loops runs on one thread.
// CHECK-LABEL: func.func private @kernel(
// CHECK: %[[BLOCKS:.*]] = arith.ceildivsi %{{.*}}, %c128
// CHECK: gpu.launch blocks({{.*}}) in ({{.*}} = %[[BLOCKS]], {{.*}}) threads({{.*}}) in ({{.*}} = %c128
// CHECK: scf.if
// CHECK: memref.store
// CHECK: gpu.terminator
// CHECK: gpu.launch blocks({{.*}}) in ({{.*}} = %[[ONE:.*]], {{.*}}) threads({{.*}}) in ({{.*}} = %[[ONE]],
// CHECK-NOT: scf.if
// CHECK: memref.store
func.func private @kernel(%out: memref<1000xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c1000) step (%c1) {
    memref.store %zero, %out[%i] : memref<1000xf32>
    scf.reduce
  }
  memref.store %zero, %out[%c0] : memref<1000xf32>
  return
}

// -----

// A number that is read before its buffer is written, by way of a view, is not read again where it is used.
func.func private @views(%x: memref<8xf32>, %out: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  // expected-error@+1 {{memref.load gives a value to what runs elsewhere on the GPU}}
  %first = memref.load %x[%c0] : memref<8xf32>
  %half = memref.subview %x[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    memref.store %zero, %half[%i] : memref<4xf32, strided<[1]>>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    memref.store %first, %out[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

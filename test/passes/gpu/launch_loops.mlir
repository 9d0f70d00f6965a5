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

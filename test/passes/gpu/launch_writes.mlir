// A number that main writes to the device is a kernel's parameter; writes of the same types share a kernel. The host's own memory is left.
// RUN: legato-opt %s --tir-launch-writes | filecheck %s
// RUN: legato-opt %s --tir-launch-writes --tir-launch-loops | filecheck %s --check-prefix LAUNCHED

// CHECK: func.func private @write_number_2(%arg0: f32, %arg1: memref<f32> {tir.out}) attributes {tir.prim_func, tir.state = "written"}
// CHECK: func.func private @write_number_1(%arg0: i64, %arg1: memref<2xi64> {tir.out}, %arg2: index) attributes {tir.prim_func, tir.state = "written"}
// CHECK: memref.store %arg0, %arg1[%arg2] : memref<2xi64>
// LAUNCHED-LABEL: @write_number_1
// LAUNCHED: gpu.launch
// LAUNCHED: memref.store
func.func private @write_number_0()

// CHECK-LABEL: func.func @main
// CHECK: call @write_number_1({{.*}}) {relax.ops = ["memref.store size/3"], relax.work = ["0", "8"]} : (i64, memref<2xi64>, index) -> ()
// CHECK: scf.for
// CHECK: call @write_number_1({{.*}}) {relax.ops = ["memref.store"], relax.work = ["0", "8"]}
// CHECK: call @write_number_2({{.*}}) {relax.ops = ["memref.store"], relax.work = ["0", "4"]} : (f32, memref<f32>) -> ()
// CHECK: memref.store {{.*}} : memref<1xi64>
func.func @main(%arena: memref<?xi8>, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %own = memref.alloca() : memref<1xi64>
  %sizes = memref.view %arena[%c0][] : memref<?xi8> to memref<2xi64>
  %factor = memref.view %arena[%c8][] : memref<?xi8> to memref<f32>
  %wide = arith.index_cast %n : index to i64
  memref.store %wide, %sizes[%c0] : memref<2xi64> loc("size/3")
  scf.for %i = %c0 to %n step %c1 {
    memref.store %wide, %sizes[%c1] : memref<2xi64>
  }
  memref.store %f, %factor[] : memref<f32>
  memref.store %wide, %own[%c0] : memref<1xi64>
  return
}

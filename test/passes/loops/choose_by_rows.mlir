// RUN: legato-opt %s --tir-choose-by-rows | filecheck %s

// The result may lie in the argument only where it may in all forms.
// CHECK-NOT: tir.form_of
// CHECK: func.func private @k(%[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<?x4xf32> {tir.out})
// CHECK-DAG: %[[A:.*]] = bufferization.to_buffer %[[X]] read_only
// CHECK-DAG: %[[B:.*]] = bufferization.to_buffer %[[Y]] :
// CHECK: %[[SIZE:.*]] = memref.dim %[[B]], %{{.*}} : memref<?x4xf32>
// CHECK: %[[MANY:.*]] = arith.cmpi sge, %[[SIZE]], %{{.*}} : index
// CHECK: scf.if %[[MANY]] {
// CHECK: gpu.launch
// CHECK: memref.load %[[A]][%{{.*}}, %{{.*}}] : memref<?x4xf32>
// CHECK: } else {
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: %[[ONE:.*]] = memref.reinterpret_cast %[[A]] to offset: [0], sizes: [1, 4], strides: [4, 1] : memref<?x4xf32> to memref<1x4xf32>
// CHECK: gpu.launch
// CHECK: memref.load %[[ONE]]
// CHECK: } else {
// CHECK: gpu.launch
// CHECK: memref.load %[[A]]
// CHECK: %[[R:.*]] = bufferization.to_tensor %[[B]]
// CHECK: return %[[R]]
func.func private @k_1_row(%x: tensor<1x4xf32>, %y: tensor<1x4xf32> {tir.out}) -> tensor<1x4xf32> attributes {tir.prim_func, tir.form_of = @k, tir.rows = array<i64: 1, 1>} {
  %0 = bufferization.to_buffer %x read_only : tensor<1x4xf32> to memref<1x4xf32>
  %1 = bufferization.to_buffer %y : tensor<1x4xf32> to memref<1x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %l = %c1, %m = %c1) {
    %v = memref.load %0[%c0, %c0] : memref<1x4xf32>
    memref.store %v, %1[%c0, %c0] : memref<1x4xf32>
    gpu.terminator
  }
  %2 = bufferization.to_tensor %1 restrict writable : memref<1x4xf32> to tensor<1x4xf32>
  return %2 : tensor<1x4xf32>
}
func.func private @k_9_rows(%x: tensor<?x4xf32> {tir.holds_result}, %y: tensor<?x4xf32> {tir.out}) -> tensor<?x4xf32> attributes {tir.prim_func, tir.form_of = @k, tir.rows = array<i64: 9, -1>} {
  %0 = bufferization.to_buffer %x read_only : tensor<?x4xf32> to memref<?x4xf32>
  %1 = bufferization.to_buffer %y : tensor<?x4xf32> to memref<?x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %l = %c1, %m = %c1) {
    %v = memref.load %0[%c1, %c0] : memref<?x4xf32>
    memref.store %v, %1[%c1, %c0] : memref<?x4xf32>
    gpu.terminator
  }
  %2 = bufferization.to_tensor %1 restrict writable : memref<?x4xf32> to tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
func.func private @k(%x: tensor<?x4xf32> {tir.holds_result}, %y: tensor<?x4xf32> {tir.out}) -> tensor<?x4xf32> attributes {tir.prim_func} {
  %0 = bufferization.to_buffer %x read_only : tensor<?x4xf32> to memref<?x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %1 = bufferization.to_buffer %y : tensor<?x4xf32> to memref<?x4xf32>
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %l = %c1, %m = %c1) {
    %v = memref.load %0[%c0, %c1] : memref<?x4xf32>
    memref.store %v, %1[%c0, %c1] : memref<?x4xf32>
    gpu.terminator
  }
  %2 = bufferization.to_tensor %1 restrict writable : memref<?x4xf32> to tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}

// A form that has no schedule.
// CHECK-NOT: @structured_1_row
// CHECK: func.func private @structured
// CHECK-NOT: scf.if
func.func private @structured_1_row(%x: tensor<1x4xf32>, %y: tensor<1x4xf32> {tir.out}) -> tensor<1x4xf32> attributes {tir.prim_func, tir.form_of = @structured, tir.rows = array<i64: 1, 1>} {
  %0 = linalg.exp ins(%x : tensor<1x4xf32>) outs(%y : tensor<1x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}
func.func private @structured(%x: tensor<?x4xf32>, %y: tensor<?x4xf32> {tir.out}) -> tensor<?x4xf32> attributes {tir.prim_func} {
  %0 = bufferization.to_buffer %x read_only : tensor<?x4xf32> to memref<?x4xf32>
  %1 = bufferization.to_buffer %y : tensor<?x4xf32> to memref<?x4xf32>
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %c1, %l = %c1, %m = %c1) {
    %v = memref.load %0[%c1, %c1] : memref<?x4xf32>
    memref.store %v, %1[%c1, %c1] : memref<?x4xf32>
    gpu.terminator
  }
  %2 = bufferization.to_tensor %1 restrict writable : memref<?x4xf32> to tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}

// Kernels on buffers.
// CHECK-NOT: @on_buffers_many_rows
// CHECK: func.func private @on_buffers(%[[X:.*]]: memref<?x4xf32>, %[[Y:.*]]: memref<?x4xf32> {tir.out})
// CHECK: %[[SIZE:.*]] = memref.dim %[[Y]], %{{.*}} : memref<?x4xf32>
// CHECK: arith.cmpi sge, %[[SIZE]], %{{.*}} : index
// CHECK: scf.if
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: } else {
// CHECK: memref.copy %[[X]], %[[Y]]
func.func private @on_buffers_many_rows(%x: memref<?x4xf32>, %y: memref<?x4xf32> {tir.out}) attributes {tir.prim_func, tir.form_of = @on_buffers, tir.rows = array<i64: 9, -1>} {
  %c1 = arith.constant 1 : index
  %v = memref.load %x[%c1, %c1] : memref<?x4xf32>
  memref.store %v, %y[%c1, %c1] : memref<?x4xf32>
  return
}
func.func private @on_buffers(%x: memref<?x4xf32>, %y: memref<?x4xf32> {tir.out}) attributes {tir.prim_func} {
  memref.copy %x, %y : memref<?x4xf32> to memref<?x4xf32>
  return
}

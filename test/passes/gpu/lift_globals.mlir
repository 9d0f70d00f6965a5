// Constants that kernels read become weights of main, before its outputs, and arguments of the functions that it calls.
// RUN: legato-opt %s --tir-lift-globals | filecheck %s

// CHECK: func.func @main(%[[X:.*]]: memref<4xf32> {relax.name = "x"}, %[[W:.*]]: memref<4xf32> {relax.weight = "w"}, %[[C:.*]]: memref<4xf32> {relax.weight = "constant.ones"}, %[[Y:.*]]: memref<4xf32> {relax.name = "y", tir.out})
// CHECK-SAME: relax.signature = (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT: memref.get_global
// CHECK: call @add(%[[X]], %[[Y]], %[[C]]) {relax.ops = ["relax.add y"]}
// CHECK: call @add(%[[W]], %[[Y]], %[[C]])
// CHECK: func.func private @add(%arg0: memref<4xf32>, %arg1: memref<4xf32> {tir.out}, %[[G:.*]]: memref<4xf32>)
// CHECK: args({{.*}}%[[G]] : memref<4xf32>
// CHECK-NOT: memref.global
module attributes {gpu.container_module} {
  memref.global "private" constant @ones : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
  func.func @main(%x: memref<4xf32> {relax.name = "x"}, %w: memref<4xf32> {relax.weight = "w"}, %y: memref<4xf32> {relax.name = "y", tir.out}) -> i32
      attributes {relax.signature = (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>} {
    %zero = arith.constant 0 : i32
    call @add(%x, %y) {relax.ops = ["relax.add y"]} : (memref<4xf32>, memref<4xf32>) -> ()
    call @add(%w, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    return %zero : i32
  }
  func.func private @add(%x: memref<4xf32>, %y: memref<4xf32> {tir.out}) attributes {tir.prim_func} {
    %c1 = arith.constant 1 : index
    %ones = memref.get_global @ones : memref<4xf32>
    gpu.launch_func @k::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %ones : memref<4xf32>, %y : memref<4xf32>)
    return
  }
  gpu.module @k {
    gpu.func @k(%x: memref<4xf32>, %c: memref<4xf32>, %y: memref<4xf32>) kernel {
      gpu.return
    }
  }
}

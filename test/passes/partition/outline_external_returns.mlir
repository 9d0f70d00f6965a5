// RUN: legato-opt %s --load %S/inputs/npu.py --relax-outline-external=returns=true | filecheck %s

// Results whose sizes depend on data are allocated by the function that is outlined; a size that nobody could compute from them gets a
// name of its own.
// CHECK: func.func private @npu_main(tensor<?xf32, #relax.dims<["n"]>>) -> (tensor<1x?xi64, #relax.dims<[1, "k"]>>, tensor<?x?xi64, #relax.dims<["size_1_0", "k"]>>, tensor<?xf32, #relax.dims<["n"]>>) attributes {relax.external = @npu::@main, relax.returns}
// CHECK: func.func @main(%[[X:.*]]: tensor<?xf32, #relax.dims<["n"]>>)
// CHECK-NEXT: %[[R:.*]]:3 = call @npu_main(%[[X]])
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1, %[[R]]#2
// CHECK: module @npu attributes {relax.codegen = "npu"} {
// CHECK-NEXT: func.func @main(
// CHECK: return {{.*}} tensor<?x?xi64, #relax.dims<["k * n", "k"]>>
func.func @main(%x: tensor<?xf32, #relax.dims<["n"]>>) -> (tensor<1x?xi64, #relax.dims<[1, "k"]>>, tensor<?x?xi64, #relax.dims<["k * n", "k"]>>, tensor<?xf32, #relax.dims<["n"]>>) attributes {relax.codegen = "npu"} {
  %0 = "relax.nonzero"(%x) {size = "k"} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<1x?xi64, #relax.dims<[1, "k"]>>
  %1 = "relax.broadcast_to"(%0) {shape = #relax.dims<["k * n", "k"]>} : (tensor<1x?xi64, #relax.dims<[1, "k"]>>) -> tensor<?x?xi64, #relax.dims<["k * n", "k"]>>
  return %0, %1, %x : tensor<1x?xi64, #relax.dims<[1, "k"]>>, tensor<?x?xi64, #relax.dims<["k * n", "k"]>>, tensor<?xf32, #relax.dims<["n"]>>
}

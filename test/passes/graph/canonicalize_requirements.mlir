// Which sizes of main's arguments an op needs to be equal is checked at calls, though relax-canonicalize erases it.
// RUN: legato-opt %s --split-input-file --relax-canonicalize | filecheck %s

// The branch that is never taken still has to fit the other one.
// CHECK: relax.requires
// CHECK-SAME: ["m", "relax.add needs m to be n, {{.*}}; m is dimension 0 of 'y', n is dimension 0 of 'x'", "n"]
func.func @main(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "x"}, %y: tensor<?xf32, #relax.dims<["m"]>> {relax.name = "y"})
    -> tensor<?xf32, #relax.dims<["n"]>> {
  %c = "relax.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %0 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  %1 = "relax.where"(%c, %x, %0) : (tensor<i1>, tensor<?xf32, #relax.dims<["n"]>>, tensor<?xf32, #relax.dims<["n"]>>)
    -> tensor<?xf32, #relax.dims<["n"]>>
  return %1 : tensor<?xf32, #relax.dims<["n"]>>
}

// -----
// Nothing is required twice, or of equal sizes.
// CHECK: func.func @equal
// CHECK-NOT: relax.requires
func.func @equal(%x: tensor<?xf32, #relax.dims<["n"]>>, %y: tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>> {
  %c = "relax.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "relax.where"(%c, %x, %y) : (tensor<i1>, tensor<?xf32, #relax.dims<["n"]>>, tensor<?xf32, #relax.dims<["n"]>>)
    -> tensor<?xf32, #relax.dims<["n"]>>
  return %1 : tensor<?xf32, #relax.dims<["n"]>>
}

// RUN: legato-opt %s --relax-hoist-invariants | filecheck %s
// What a loop computes from values in front of it is computed there, once; what repeats elements, reads at indices, or may not be reached stays.

// CHECK-LABEL: func.func @rows
// CHECK: %[[C:.*]] = "relax.constant"
// CHECK: %[[W:.*]] = "relax.permute_dims"(%arg1)
// CHECK: %[[D:.*]] = "relax.add"(%[[W]], %[[C]])
// CHECK: scf.for
// CHECK:   %[[M:.*]] = "relax.matmul"(%[[S:.*]], %[[D]])
// CHECK:   "relax.broadcast_to"(%arg2)
// CHECK:   "relax.take"(%arg1, %arg4)
// CHECK:   scf.if
// CHECK:     "relax.exp"(%arg0)
func.func @rows(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<1x8xf32>, %steps: index, %i: tensor<4xi64>, %c: i1) -> tensor<4x8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %k = %zero to %steps step %one iter_args(%s = %x) -> (tensor<4x8xf32>) {
    %n = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
    %t = "relax.permute_dims"(%w) {axes = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %d = "relax.add"(%t, %n) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %m = "relax.matmul"(%s, %d) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %e = "relax.broadcast_to"(%b) {shape = #relax.dims<[4, 8]>} : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %g = "relax.take"(%w, %i) {axis = 0 : i64} : (tensor<8x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    %a = "relax.add"(%m, %e) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %h = "relax.add"(%a, %g) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = scf.if %c -> (tensor<4x8xf32>) {
      %p = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      scf.yield %p : tensor<4x8xf32>
    } else {
      scf.yield %h : tensor<4x8xf32>
    }
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// Out of two loops, as far as the operands allow; a size that a step gives keeps what names it.
// CHECK-LABEL: func.func @nested
// CHECK: "relax.negative"(%arg1)
// CHECK: scf.for
// CHECK:   "relax.tanh"
// CHECK:   scf.for
// CHECK:     "relax.nonzero"
// CHECK:     "relax.reshape"(%arg3)
func.func @nested(%x: tensor<4xf32>, %w: tensor<4xf32>, %steps: index, %v: tensor<?xf32, #relax.dims<["k"]>>, %b: tensor<4xi1>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %steps step %one iter_args(%s = %x) -> (tensor<4xf32>) {
    %o = scf.for %j = %zero to %steps step %one iter_args(%q = %s) -> (tensor<4xf32>) {
      %n = "relax.negative"(%w) : (tensor<4xf32>) -> tensor<4xf32>
      %t = "relax.tanh"(%s) : (tensor<4xf32>) -> tensor<4xf32>
      %f = "relax.nonzero"(%b) {size = "found"} : (tensor<4xi1>) -> tensor<1x?xi64, #relax.dims<[1, "found"]>>
      %z = "relax.reshape"(%v) {shape = #relax.dims<["found", "k // found"]>} : (tensor<?xf32, #relax.dims<["k"]>>) -> tensor<?x?xf32, #relax.dims<["found", "k // found"]>>
      %u = "relax.sum"(%z) : (tensor<?x?xf32, #relax.dims<["found", "k // found"]>>) -> tensor<f32>
      %a = "relax.add"(%n, %t) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %c = "relax.add"(%a, %q) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %d = "relax.add"(%c, %u) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      scf.yield %d : tensor<4xf32>
    }
    scf.yield %o : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// RUN: legato-opt %s --relax-veto-small='backend=npu min-ops=2' | filecheck %s
// RUN: legato-opt %s --relax-veto-small='backend=npu min-ops=2' --relax-outline-external | filecheck %s --check-prefix=OUT
// RUN: legato-opt %s --relax-veto-small='backend=npu min-ops=4' --relax-outline-external | filecheck %s --check-prefix=FEW
// RUN: legato-opt %s --relax-veto-small='backend=npu min-ops=1' | filecheck %s --check-prefix=ONE
// ONE-NOT: relax.veto

// The merged group has two ops, the one that stands alone has one; a function marked by hand has no fewest number of ops.
// CHECK: func.func private @part({{.*}} attributes {relax.codegen = "npu"} {
// CHECK: func.func private @alone({{.*}} relax.veto = "1 op, fewer than the 2 that a group for 'npu' has at least"}
// CHECK: func.func private @byhand({{.*}} attributes {relax.codegen = "npu"} {
// CHECK: func.func private @other({{.*}} attributes {relax.codegen = "other", relax.composite = "other.exp"}

// OUT-LABEL: func.func @main(
// OUT: call @part
// OUT: relax.tanh
// OUT: call @byhand

// FEW-LABEL: func.func @main(
// FEW-NEXT: relax.exp
// FEW-NEXT: relax.relu
// FEW-NEXT: relax.tanh
// FEW: call @byhand
// FEW-NOT: func.func private @a(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @part(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @alone(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @byhand(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @other(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.composite = "npu.a"} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.composite = "npu.b"} {
  %0 = "relax.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @alone(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.tanh"} {
  %0 = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @byhand(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
  %0 = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "other", relax.composite = "other.exp"} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

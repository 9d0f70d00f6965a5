// Functions that call packed functions or external modules are inlined, those that call them too; others stay.
// RUN: legato-opt %s --relax-inline-callers | filecheck %s

// CHECK: func.func @main
// CHECK-NEXT: %0 = tensor.empty()
// CHECK-NEXT: %1 = call @packed(%arg0, %0)
// CHECK-NEXT: %2 = scf.if
// CHECK-NEXT: %4 = tensor.empty()
// CHECK-NEXT: %5 = func.call @packed(%1, %4)
// CHECK-NEXT: scf.yield %5
// CHECK: %3 = call @plain(%2)
// CHECK-NEXT: return %3
func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = scf.if %c -> (tensor<4xf32>) {
    %3 = func.call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %0 : tensor<4xf32>
  }
  %2 = call @plain(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-NOT: @outer
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-NOT: func.func @inner
func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  %1 = call @packed(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK: func.func private @plain
func.func private @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @packed(tensor<4xf32>, tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {relax.packed = "my.f"}

// RUN: legato-opt %s --split-input-file --load %S/inputs/npu.py --relax-outline-external | filecheck %s

// A function marked by hand moves out as it stands, with what it calls; the host calls a declaration, into fresh outputs.
// CHECK-LABEL: func.func @main(
// CHECK: %[[OUT:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xf32, #relax.dims<["n", 4]>>
// CHECK: call @npu_f(%arg0, %[[OUT]]) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>)
// CHECK: func.func private @npu_f(tensor<?x4xf32, {{.*}}>, tensor<?x4xf32, {{.*}}> {tir.out}) -> tensor<?x4xf32, {{.*}}> attributes {relax.external = @npu::@f}
// CHECK: module @npu attributes {relax.codegen = "npu"} {
// CHECK-NEXT: func.func @f(
// CHECK: call @helper
// CHECK: func.func private @helper(
func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> {
  %0 = call @npu_f(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
func.func private @npu_f(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.codegen = "npu"} {
  %0 = call @helper(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
func.func private @helper(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// -----

// A whole model that is marked: main stays, and calls. A module of that name is there: the new one gets another.
// CHECK: module @npu
// CHECK: func.func private @npu_1_main(
// CHECK: func.func @main(%arg0: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
// CHECK: call @npu_1_main(%arg0, %{{.*}})
// CHECK: module @npu_1 attributes {relax.codegen = "npu"} {
// CHECK-NEXT: func.func @main(
module @npu attributes {relax.codegen = "npu"} {}
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.codegen = "npu"} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What was vetoed goes back.
// CHECK-LABEL: func.func @vetoed(
// CHECK-NEXT: relax.exp
// CHECK-NEXT: return
// CHECK-NOT: module @npu
func.func @vetoed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @npu_f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @npu_f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.codegen = "npu", relax.composite = "npu.f", relax.veto = "no"} {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

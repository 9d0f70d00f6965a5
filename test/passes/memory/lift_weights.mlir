// RUN: rm -rf %t && mkdir %t && cp %s %t/in.mlir
// RUN: %python -c "import numpy as n, safetensors.numpy as s; s.save_file({k: n.ones((8, 8), 'f4') for k in 'abw'}, r'%t/in.mlir.safetensors')"
// RUN: legato-opt %t/in.mlir --split-input-file --relax-lift-weights --verify-diagnostics | filecheck %s

// Each key becomes one argument, in the order of first use; small constants stay.
// CHECK: func.func @main(%arg0: tensor<4x8xf32> {relax.name = "x"}, %arg1: tensor<8x8xf32> {relax.weight = "b"}, %arg2: tensor<8x8xf32> {relax.weight = "a"})
// CHECK-NOT: weight =
// CHECK: value = dense
// CHECK: "relax.matmul"(%arg0, %arg1)
// CHECK: "relax.matmul"({{.*}}, %arg2)
// CHECK: "relax.matmul"({{.*}}, %arg1)
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}) -> tensor<4x8xf32> {
  %b = "relax.constant"() {weight = "b"} : () -> tensor<8x8xf32>
  %c = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.matmul"(%x, %b) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = "relax.constant"() {weight = "a"} : () -> tensor<8x8xf32>
  %1 = "relax.matmul"(%0, %a) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %again = "relax.constant"() {weight = "b"} : () -> tensor<8x8xf32>
  %2 = "relax.matmul"(%1, %again) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = "relax.multiply"(%2, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// The default of an argument is lifted, too, once, in its own type, though nothing reads it.
// CHECK-LABEL: func.func @main(%arg0: tensor<?x8xf32> {relax.default = "w"}, %arg1: tensor<8x8xf32> {relax.default = "a"}, %arg2: tensor<8x8xf32> {relax.weight = "a"}, %arg3: tensor<8x8xf32> {relax.weight = "w"})
func.func @main(%x: tensor<?x8xf32> {relax.default = "w"}, %y: tensor<8x8xf32> {relax.default = "a"}) -> tensor<?x8xf32> {
  %a = "relax.constant"() {weight = "a"} : () -> tensor<8x8xf32>
  %0 = "relax.matmul"(%x, %a) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

func.func private @part(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{@part is private and uses the weight "w": inline it into its caller first}}
  %w = "relax.constant"() {weight = "w"} : () -> tensor<8x8xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

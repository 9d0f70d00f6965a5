// RUN: legato-opt %s --tir-prepare-main | filecheck %s

// What is returned twice is copied, as arguments and constants would be; each call gets an output of its own; types become
// plain; a declaration says what it reads and writes, and that its result is its output.
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME: bufferization.access = "read"}, %[[OUT:.*]]: tensor<4xf32> {bufferization.access = "write", tir.out}
// CHECK-SAME: tir.stand_in
// CHECK-NEXT: return %[[OUT]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<?xf32> {bufferization.writable = false}
// CHECK: %[[A:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: %[[R:.*]] = call @twice(%{{.*}}, %[[A]])
// CHECK: %[[B:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: call @twice(%[[R]], %[[B]])
// CHECK: %[[C:.*]] = bufferization.alloc_tensor() copy(%[[R]])
// CHECK: return %[[R]], %[[C]]
func.func private @twice(tensor<4xf32>, tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {relax.packed = "twice"}
func.func @main(%x: tensor<?xf32, #relax.dims<["n"]>>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @twice(%w, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @twice(%0, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %0, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// RUN: legato-opt %s --relax-infer-shapes | filecheck %s
// Dimensions of arguments get names; what follows from them is written into every type and into the signature.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<?x4xf32, #relax.dims<["in_put_0", 4]>> {relax.name = "in-put"}
// CHECK-SAME: tensor<?x?xf32, #relax.dims<["n", "arg1_1"]>>
// CHECK-SAME: -> tensor<?x8xf32, #relax.dims<["in_put_0 * 2", 8]>>
func.func @main(%x: tensor<?x4xf32> {relax.name = "in-put"}, %y: tensor<?x?xf32, #relax.dims<["n", "?"]>>) -> tensor<?x?xf32> {
  // CHECK: tensor.concat dim(0) {{.*}} -> tensor<?x4xf32, #relax.dims<["in_put_0 * 2", 4]>>
  // CHECK: "relax.exp"({{.*}}) : {{.*}} -> tensor<?x4xf32, #relax.dims<["in_put_0 * 2", 4]>>
  // CHECK: return {{.*}} : tensor<?x8xf32, #relax.dims<["in_put_0 * 2", 8]>>
  %0 = tensor.concat dim(0) %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = "relax.exp"(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = tensor.concat dim(1) %1, %1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// Two arguments may want one name.
// CHECK-LABEL: func.func @names(
// CHECK-SAME: #relax.dims<["x_0", 4]>> {relax.name = "x"}
// CHECK-SAME: #relax.dims<["x_0_"]>> {relax.name = "x"}
func.func @names(%x: tensor<?x4xf32> {relax.name = "x"}, %y: tensor<?xf32> {relax.name = "x"}) -> tensor<?xf32> {
  return %y : tensor<?xf32>
}

// A function that others call keeps its signature: theirs would no longer fit. What its body knows is still inferred.
// CHECK-LABEL: func.func private @callee(%arg0: tensor<?xf32>) -> tensor<?xf32>
func.func private @callee(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: -> tensor<3xf32>
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3xf32>} : () -> tensor<3xf32>
  %1 = "relax.exp"(%0) : (tensor<3xf32>) -> tensor<?xf32>
  return %x : tensor<?xf32>
}

// CHECK-LABEL: func.func @caller(
func.func @caller(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: %[[X:.*]] = tensor.cast %arg0 : tensor<?xf32, #relax.dims<["arg0_0"]>> to tensor<?xf32>
  // CHECK: call @callee(%[[X]])
  %0 = call @callee(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// What packed functions return gets names for its sizes, each call its own.
// CHECK-LABEL: func.func @returned
// CHECK: %[[A:.*]] = call @pos_0(%arg0) : (tensor<4xf32>) -> tensor<?x2xf32, #relax.dims<["pos_0", 2]>>
// CHECK: %[[B:.*]] = call @pos_1(%arg0) : (tensor<4xf32>) -> tensor<?x2xf32, #relax.dims<["pos_0_1", 2]>>
// CHECK: "relax.exp"(%[[A]]) : {{.*}} -> tensor<?x2xf32, #relax.dims<["pos_0", 2]>>
func.func private @pos(tensor<4xf32>) -> tensor<?x2xf32> attributes {relax.packed = "t.pos", relax.returns}
func.func @returned(%x: tensor<4xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %0 = call @pos(%x) : (tensor<4xf32>) -> tensor<?x2xf32>
  %1 = call @pos(%x) : (tensor<4xf32>) -> tensor<?x2xf32>
  %2 = "relax.exp"(%0) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %2, %1 : tensor<?x2xf32>, tensor<?x2xf32>
}

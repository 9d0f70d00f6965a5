// RUN: legato-opt %s --tir-merge-calls | filecheck %s

// The same kernel of the same operand is called once; of another operand, or into memory that holds something, it is called again.
// CHECK-LABEL: func.func @main(
// CHECK: %[[FIRST:.*]] = call @double(%arg0, %{{.*}})
// CHECK-NEXT: %[[OTHER:.*]] = call @double(%arg1, %{{.*}})
// CHECK-NEXT: %[[HELD:.*]] = call @double(%arg0, %arg1)
// CHECK-NEXT: return %[[FIRST]], %[[FIRST]], %[[OTHER]], %[[HELD]] :
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
    attributes {relax.function} {
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = tensor.empty(%n) : tensor<?xf32>
  %0 = call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = call @double(%x, %f) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = call @double(%y, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %3 = call @double(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0, %1, %2, %3 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// Memory of another size holds another result, and what calls functions may do more than its result tells.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: call @double(
// CHECK-COUNT-2: call @counts(
func.func @others(%x: tensor<?xf32>, %m: index, %n: index) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
    attributes {relax.function} {
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = tensor.empty(%n) : tensor<?xf32>
  %0 = call @double(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = call @double(%x, %f) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = call @counts(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %3 = call @counts(%x, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0, %1, %2, %3 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
func.func private @double(%x: tensor<?xf32>, %out: tensor<?xf32> {bufferization.writable = true, tir.out}) -> tensor<?xf32>
    attributes {tir.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @counts(%x: tensor<?xf32>, %out: tensor<?xf32> {bufferization.writable = true, tir.out}) -> tensor<?xf32>
    attributes {tir.prim_func} {
  call @count() : () -> ()
  return %out : tensor<?xf32>
}
func.func private @count()

// Loops as they were written are computed once, too.
// CHECK-LABEL: func.func @written(
// CHECK: %[[ONE:.*]] = call @loops(%arg0, %{{.*}})
// CHECK-NEXT: return %[[ONE]], %[[ONE]] :
func.func @written(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {relax.function} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @loops(%x, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @loops(%x, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @loops(%x: tensor<4xf32>, %out: tensor<4xf32> {bufferization.writable = true, tir.out}) -> tensor<4xf32>
    attributes {tir.prim_func, tir.state = "written"} {
  %0 = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

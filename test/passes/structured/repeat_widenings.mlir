// RUN: legato-opt %s --tir-repeat-widenings | filecheck %s

// Each elementwise reader of widened integers widens them itself.
// CHECK-LABEL: func.func @main(
// CHECK: %[[FIRST:.*]] = call @widen(%arg0, %[[MEMORY:.*]]) :
// CHECK-NEXT: %[[A:.*]] = call @double(%[[FIRST]], %{{.*}}) :
// CHECK-NEXT: %[[SECOND:.*]] = call @widen(%arg0, %[[MEMORY]]) :
// CHECK-NEXT: %[[B:.*]] = call @sum(%[[SECOND]], %[[SECOND]], %{{.*}}) :
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @main(%x: tensor<8xi8>) -> (tensor<8xi32>, tensor<8xi32>) attributes {relax.function} {
  %e = tensor.empty() : tensor<8xi32>
  %0 = call @widen(%x, %e) : (tensor<8xi8>, tensor<8xi32>) -> tensor<8xi32>
  %1 = call @double(%0, %e) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %2 = call @sum(%0, %0, %e) : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  return %1, %2 : tensor<8xi32>, tensor<8xi32>
}

// One that a product reads, too, or the caller, is there anyhow; and what does more than to widen is computed once.
// CHECK-LABEL: func.func @once(
// CHECK: %[[X:.*]] = call @widen(%arg0
// CHECK-NEXT: call @double(%[[X]]
// CHECK-NEXT: call @dot(%[[X]], %[[X]]
// CHECK-NEXT: %[[Y:.*]] = call @widen(%arg1
// CHECK-NEXT: %[[TWICE:.*]] = call @double(%[[Y]]
// CHECK-NEXT: %[[RAISED:.*]] = call @raise(%arg1
// CHECK-NEXT: call @sum(%[[RAISED]], %[[TWICE]]
// CHECK-NEXT: call @double(%[[RAISED]]
// CHECK-NEXT: return
func.func @once(%x: tensor<8xi8>, %y: tensor<8xi8>) -> (tensor<8xi32>, tensor<i32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
    attributes {relax.function} {
  %e = tensor.empty() : tensor<8xi32>
  %s = tensor.empty() : tensor<i32>
  %0 = call @widen(%x, %e) : (tensor<8xi8>, tensor<8xi32>) -> tensor<8xi32>
  %1 = call @double(%0, %e) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %2 = call @dot(%0, %0, %s) : (tensor<8xi32>, tensor<8xi32>, tensor<i32>) -> tensor<i32>
  %3 = call @widen(%y, %e) : (tensor<8xi8>, tensor<8xi32>) -> tensor<8xi32>
  %4 = call @double(%3, %e) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %5 = call @raise(%y, %e) : (tensor<8xi8>, tensor<8xi32>) -> tensor<8xi32>
  %6 = call @sum(%5, %4, %e) : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %7 = call @double(%5, %e) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  return %1, %2, %3, %6, %7 : tensor<8xi32>, tensor<i32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
}
func.func private @widen(%x: tensor<8xi8>, %out: tensor<8xi32> {bufferization.writable = true, tir.out}) -> tensor<8xi32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%out : tensor<8xi32>) {
  ^bb0(%in: i8, %old: i32):
    %1 = arith.extsi %in : i8 to i32
    linalg.yield %1 : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
func.func private @raise(%x: tensor<8xi8>, %out: tensor<8xi32> {bufferization.writable = true, tir.out}) -> tensor<8xi32> attributes {tir.prim_func} {
  %c = arith.constant 128 : i32
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%out : tensor<8xi32>) {
  ^bb0(%in: i8, %old: i32):
    %1 = arith.extsi %in : i8 to i32
    %2 = arith.addi %1, %c : i32
    linalg.yield %2 : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
func.func private @double(%x: tensor<8xi32>, %out: tensor<8xi32> {bufferization.writable = true, tir.out}) -> tensor<8xi32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %x : tensor<8xi32>, tensor<8xi32>) outs(%out : tensor<8xi32>) {
  ^bb0(%a: i32, %b: i32, %old: i32):
    %1 = arith.addi %a, %b : i32
    linalg.yield %1 : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
func.func private @sum(%x: tensor<8xi32>, %y: tensor<8xi32>, %out: tensor<8xi32> {bufferization.writable = true, tir.out}) -> tensor<8xi32>
    attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<8xi32>, tensor<8xi32>) outs(%out : tensor<8xi32>) {
  ^bb0(%a: i32, %b: i32, %old: i32):
    %1 = arith.addi %a, %b : i32
    linalg.yield %1 : i32
  } -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
func.func private @dot(%x: tensor<8xi32>, %y: tensor<8xi32>, %out: tensor<i32> {bufferization.writable = true, tir.out}) -> tensor<i32>
    attributes {tir.prim_func} {
  %0 = linalg.dot ins(%x, %y : tensor<8xi32>, tensor<8xi32>) outs(%out : tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

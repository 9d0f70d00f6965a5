// RUN: legato-opt %s --tir-prepare-main | filecheck %s

func.func private @k(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

// What an inner loop computes in the memory of the state is not stored there again.
// CHECK-LABEL: func.func @in_place
// CHECK: scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}})
// CHECK-NEXT: %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[STATE]])
// CHECK: }
// CHECK-NEXT: scf.yield %[[INNER]]
func.func @in_place(%x: tensor<?xf32>, %n: index, %e: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<?xf32>) {
    %q = scf.for %j = %c0 to %n step %c1 iter_args(%t = %s) -> (tensor<?xf32>) {
      %y = func.call @k(%t, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %z = bufferization.materialize_in_destination %y in %t : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      scf.yield %z : tensor<?xf32>
    }
    %w = bufferization.materialize_in_destination %q in %s : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %w : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// A state that goes into the memory of another is copied before the first store.
// CHECK-LABEL: func.func @exchanged
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK-NEXT: %[[FROM_B:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK-NEXT: %[[FROM_A:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[FROM_B]] in %[[A]]
// CHECK-NEXT: bufferization.materialize_in_destination %[[FROM_A]] in %[[B]]
func.func @exchanged(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %0 = bufferization.alloc_tensor() copy(%b) : tensor<?xf32>
    %1 = bufferization.materialize_in_destination %0 in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = bufferization.materialize_in_destination %a in %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1, %2 : tensor<?xf32>, tensor<?xf32>
  }
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}

// A state is computed in its memory by a call that comes after all that read it, and not by one that reads it.
// CHECK-LABEL: func.func @computed
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK: %[[E:.*]] = tensor.empty
// CHECK: %[[F:.*]] = func.call @k(%[[A]], %[[E]])
// CHECK: func.call @k(%[[F]], %[[A]])
// CHECK: %[[H:.*]] = tensor.empty
// CHECK: %[[G:.*]] = func.call @k(%[[B]], %[[H]])
// CHECK: bufferization.materialize_in_destination %[[G]] in %[[B]]
func.func @computed(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %e = tensor.empty(%n) : tensor<?xf32>
    %0 = func.call @k(%a, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %1 = func.call @k(%0, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %2 = func.call @k(%b, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %3 = bufferization.materialize_in_destination %1 in %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %4 = bufferization.materialize_in_destination %2 in %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %3, %4 : tensor<?xf32>, tensor<?xf32>
  }
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}

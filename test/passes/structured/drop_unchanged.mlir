// RUN: legato-opt %s --split-input-file --tir-drop-unchanged | filecheck %s

// What is left behind when an accumulator is hoisted: the tile is carried untouched through both loops. Its initial value goes with it.
// CHECK-LABEL: func.func private @accumulator
// CHECK-NOT: tensor.empty
// CHECK: %[[OUTER:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (vector<4xf32>) {
// CHECK-NEXT: %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[A]]) -> (vector<4xf32>) {
// CHECK: scf.yield %{{.*}} : vector<4xf32>
// CHECK: scf.yield %[[INNER]] : vector<4xf32>
// CHECK: vector.transfer_write %[[OUTER]], %arg1
func.func private @accumulator(%x: tensor<8x4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %init = arith.constant dense<0.0> : vector<4xf32>
  %empty = tensor.empty() : tensor<4xf32>
  %fill = vector.transfer_write %init, %empty[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  %0:2 = scf.for %i = %c0 to %c8 step %c4 iter_args(%t = %fill, %a = %init) -> (tensor<4xf32>, vector<4xf32>) {
    %1:2 = scf.for %j = %c0 to %c4 step %c1 iter_args(%u = %t, %b = %a) -> (tensor<4xf32>, vector<4xf32>) {
      %k = arith.addi %i, %j : index
      %row = vector.transfer_read %x[%k, %c0], %zero {in_bounds = [true]} : tensor<8x4xf32>, vector<4xf32>
      %sum = arith.addf %b, %row : vector<4xf32>
      scf.yield %u, %sum : tensor<4xf32>, vector<4xf32>
    }
    scf.yield %1#0, %1#1 : tensor<4xf32>, vector<4xf32>
  }
  %r = vector.transfer_write %0#1, %out[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// The loop's result is its initial value, which others read; two tensors that change places are carried on.
// CHECK-LABEL: func.func private @others
// CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %{{.*}}, %[[Q:.*]] = %{{.*}}) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK: vector.transfer_read %arg0
// CHECK: scf.yield %[[Q]], %
// CHECK: vector.transfer_read %arg0
func.func private @others(%x: tensor<4xf32>, %y: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %0:3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %y, %u = %x, %q = %out) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %v = vector.transfer_read %u[%c0], %zero {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
    %w = vector.transfer_write %v, %p[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
    scf.yield %q, %u, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %v = vector.transfer_read %0#1[%c0], %zero {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  %r = vector.transfer_write %v, %0#2[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// The initial values of an accumulator in the result's own memory are not written there: its sums are, over all of them.
// CHECK-LABEL: func.func private @in_place
// CHECK-NOT: vector.transfer_write
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (vector<4xf32>) {
// CHECK: vector.transfer_write %[[SUM]], %arg1
func.func private @in_place(%x: tensor<8x4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %init = arith.constant dense<0.0> : vector<4xf32>
  %fill = vector.transfer_write %init, %out[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  %0:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %fill, %a = %init) -> (tensor<4xf32>, vector<4xf32>) {
    %row = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true]} : tensor<8x4xf32>, vector<4xf32>
    %sum = arith.addf %a, %row : vector<4xf32>
    scf.yield %t, %sum : tensor<4xf32>, vector<4xf32>
  }
  %r = vector.transfer_write %0#1, %0#0[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What is written at another place does not cover them.
// CHECK-LABEL: func.func private @beside
// CHECK-COUNT-2: vector.transfer_write
func.func private @beside(%x: tensor<8x4xf32>, %out: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %init = arith.constant dense<0.0> : vector<4xf32>
  %fill = vector.transfer_write %init, %out[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<8xf32>
  %0:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %fill, %a = %init) -> (tensor<8xf32>, vector<4xf32>) {
    %row = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true]} : tensor<8x4xf32>, vector<4xf32>
    %sum = arith.addf %a, %row : vector<4xf32>
    scf.yield %t, %sum : tensor<8xf32>, vector<4xf32>
  }
  %r = vector.transfer_write %0#1, %0#0[%c4] {in_bounds = [true]} : vector<4xf32>, tensor<8xf32>
  return %r : tensor<8xf32>
}

// RUN: legato-opt %s --split-input-file --tir-select-masked-writes | filecheck %s

// The end of a row changes the first lanes of partial results, which stay in registers.
// CHECK-LABEL: func.func private @row(
// CHECK: %[[PARTS:.*]] = scf.for
// CHECK: %[[END:.*]] = vector.transfer_read %{{.*}}, %[[MASK:.*]] {in_bounds = [true]} : tensor<3xf32>, vector<8xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[END]], %[[PARTS]] : vector<8xf32>
// CHECK: %[[ALL:.*]] = arith.select %{{.*}}, %[[SUM]], %[[PARTS]] : vector<8xi1>, vector<8xf32>
// CHECK: %[[READ:.*]] = vector.shape_cast %[[ALL]] : vector<8xf32> to vector<1x8xf32>
// CHECK: vector.multi_reduction <add>, %[[READ]]
// CHECK-NOT: tensor.insert_slice
func.func private @row(%x: tensor<19xf32>, %out: tensor<1xf32> {tir.out, bufferization.writable = true}) -> tensor<1xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %poison = ub.poison : f32
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  %zero = arith.constant dense<0.0> : vector<1xf32>
  %mask = vector.constant_mask [3] : vector<8xi1>
  %empty = tensor.empty() : tensor<1x8xf32>
  %parts = scf.for %i = %c0 to %c16 step %c8 iter_args(%sum = %zeros) -> (vector<8xf32>) {
    %0 = vector.transfer_read %x[%i], %poison {in_bounds = [true]} : tensor<19xf32>, vector<8xf32>
    %1 = arith.addf %0, %sum : vector<8xf32>
    scf.yield %1 : vector<8xf32>
  }
  %written = vector.transfer_write %parts, %empty[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<1x8xf32>
  %end = tensor.extract_slice %x[16] [3] [1] : tensor<19xf32> to tensor<3xf32>
  %first = tensor.extract_slice %written[0, 0] [1, 3] [1, 1] : tensor<1x8xf32> to tensor<3xf32>
  %a = vector.transfer_read %end[%c0], %poison, %mask {in_bounds = [true]} : tensor<3xf32>, vector<8xf32>
  %b = vector.transfer_read %first[%c0], %poison, %mask {in_bounds = [true]} : tensor<3xf32>, vector<8xf32>
  %c = arith.addf %a, %b : vector<8xf32>
  %d = vector.transfer_write %c, %first[%c0], %mask {in_bounds = [true]} : vector<8xf32>, tensor<3xf32>
  %e = tensor.insert_slice %d into %written[0, 0] [1, 3] [1, 1] : tensor<3xf32> into tensor<1x8xf32>
  %f = vector.transfer_read %e[%c0, %c0], %poison {in_bounds = [true]} : tensor<1x8xf32>, vector<8xf32>
  %g = vector.shape_cast %f : vector<8xf32> to vector<1x8xf32>
  %h = vector.multi_reduction <add>, %g, %zero [1] : vector<1x8xf32> to vector<1xf32>
  %r = vector.transfer_write %h, %out[%c0] {in_bounds = [true]} : vector<1xf32>, tensor<1xf32>
  return %r : tensor<1xf32>
}

// -----

// A number of lanes that only the call knows, a padding that is a number, and a tensor that is needed as such.
// CHECK-LABEL: func.func private @needed(
// CHECK: %[[PAD:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: %[[OLD:.*]] = arith.select %[[MASK:.*]], %[[V:.*]], %[[PAD]]
// CHECK: %[[NEW:.*]] = arith.mulf %[[OLD]], %[[OLD]]
// CHECK: %[[ALL:.*]] = arith.select %[[MASK]], %[[NEW]], %[[V]]
// CHECK: %[[WRITTEN:.*]] = vector.transfer_write %[[ALL]], %arg2[%{{.*}}] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
// CHECK: return %[[WRITTEN]]
func.func private @needed(%x: tensor<8xf32>, %n: index, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %mask = vector.create_mask %n : vector<8xi1>
  %v = vector.transfer_read %x[%c0], %two {in_bounds = [true]} : tensor<8xf32>, vector<8xf32>
  %written = vector.transfer_write %v, %out[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
  %first = tensor.extract_slice %written[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
  %a = vector.transfer_read %first[%c0], %two, %mask {in_bounds = [true]} : tensor<?xf32>, vector<8xf32>
  %b = arith.mulf %a, %a : vector<8xf32>
  %c = vector.transfer_write %b, %first[%c0], %mask {in_bounds = [true]} : vector<8xf32>, tensor<?xf32>
  %d = tensor.insert_slice %c into %written[0] [%n] [1] : tensor<?xf32> into tensor<8xf32>
  return %d : tensor<8xf32>
}

// -----

// Not where the slice begins at another element, is longer than the vector, or its old elements are read otherwise.
// CHECK-LABEL: func.func private @others(
// CHECK-NOT: arith.select
// CHECK-COUNT-3: tensor.insert_slice
func.func private @others(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true},
    %o: tensor<16xf32> {tir.out, bufferization.writable = true}) -> (tensor<8xf32>, tensor<16xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %mask = vector.constant_mask [3] : vector<8xi1>
  %v = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : tensor<8xf32>, vector<8xf32>
  %written = vector.transfer_write %v, %out[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
  %later = tensor.extract_slice %written[1] [3] [1] : tensor<8xf32> to tensor<3xf32>
  %a = vector.transfer_write %v, %later[%c0], %mask {in_bounds = [true]} : vector<8xf32>, tensor<3xf32>
  %b = tensor.insert_slice %a into %written[1] [3] [1] : tensor<3xf32> into tensor<8xf32>
  %c = vector.transfer_read %b[%c0], %zero {in_bounds = [true]} : tensor<8xf32>, vector<8xf32>
  %again = vector.transfer_write %c, %b[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
  %first = tensor.extract_slice %again[0] [3] [1] : tensor<8xf32> to tensor<3xf32>
  %element = tensor.extract %first[%c0] : tensor<3xf32>
  %d = vector.broadcast %element : f32 to vector<8xf32>
  %e = vector.transfer_write %d, %first[%c0], %mask {in_bounds = [true]} : vector<8xf32>, tensor<3xf32>
  %f = tensor.insert_slice %e into %again[0] [3] [1] : tensor<3xf32> into tensor<8xf32>
  %part = vector.transfer_write %v, %o[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<16xf32>
  %start = tensor.extract_slice %part[0] [3] [1] : tensor<16xf32> to tensor<3xf32>
  %g = vector.transfer_write %d, %start[%c0], %mask {in_bounds = [true]} : vector<8xf32>, tensor<3xf32>
  %h = tensor.insert_slice %g into %part[0] [3] [1] : tensor<3xf32> into tensor<16xf32>
  return %f, %h : tensor<8xf32>, tensor<16xf32>
}

// -----

// The end of a row whose length only the call knows is a loop: each step reads and writes the partial results as a whole.
// CHECK-LABEL: func.func private @unknown_row(
// CHECK: scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %{{.*}}) -> (tensor<1x8xf32>)
// CHECK: %[[OLD:.*]] = vector.transfer_read %[[CARRIED]][{{.*}} {in_bounds = [true]} : tensor<1x8xf32>, vector<8xf32>
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[OLD]]
// CHECK: %[[ALL:.*]] = arith.select %[[MASK]], %[[SUM]], %[[OLD]]
// CHECK: vector.transfer_write %[[ALL]], %[[CARRIED]][{{.*}} {in_bounds = [true]} : vector<8xf32>, tensor<1x8xf32>
// CHECK-NOT: tensor.insert_slice
func.func private @unknown_row(%x: tensor<?xf32>, %begin: index, %end: index, %out: tensor<8xf32> {tir.out, bufferization.writable = true})
    -> tensor<8xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %poison = ub.poison : f32
  %zeros = arith.constant dense<0.0> : vector<8xf32>
  %empty = tensor.empty() : tensor<1x8xf32>
  %written = vector.transfer_write %zeros, %empty[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<1x8xf32>
  %parts = scf.for %i = %begin to %end step %c8 iter_args(%carried = %written) -> (tensor<1x8xf32>) {
    %n = arith.subi %end, %i : index
    %last = tensor.extract_slice %x[%i] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    %first = tensor.extract_slice %carried[0, 0] [1, %n] [1, 1] : tensor<1x8xf32> to tensor<?xf32>
    %mask = vector.create_mask %n : vector<8xi1>
    %a = vector.transfer_read %last[%c0], %poison, %mask {in_bounds = [true]} : tensor<?xf32>, vector<8xf32>
    %b = vector.transfer_read %first[%c0], %poison, %mask {in_bounds = [true]} : tensor<?xf32>, vector<8xf32>
    %c = arith.addf %a, %b : vector<8xf32>
    %d = vector.transfer_write %c, %first[%c0], %mask {in_bounds = [true]} : vector<8xf32>, tensor<?xf32>
    %e = tensor.insert_slice %d into %carried[0, 0] [1, %n] [1, 1] : tensor<?xf32> into tensor<1x8xf32>
    scf.yield %e : tensor<1x8xf32>
  }
  %f = vector.transfer_read %parts[%c0, %c0], %poison {in_bounds = [true]} : tensor<1x8xf32>, vector<8xf32>
  %r = vector.transfer_write %f, %out[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>
  return %r : tensor<8xf32>
}

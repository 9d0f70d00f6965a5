// RUN: legato-opt %s --tir-integer-maxima --canonicalize --cse | filecheck %s

// Both maxima of two nested loops are those of numbers: -inf is 0, the sign inverts the other bits.
// CHECK-LABEL: func.func @pool(
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant dense<-32641> : vector<32xi16>
// CHECK-DAG: %[[BITS:.*]] = arith.constant dense<32767> : vector<32xi16>
// CHECK-DAG: %[[SIGN:.*]] = arith.constant dense<15> : vector<32xi16>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0> : vector<32xi16>
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %[[ZERO]], %[[B:.*]] = %[[ZERO]]) -> (vector<32xi16>, vector<32xi16>)
// CHECK:   scf.for {{.*}} iter_args(%[[C:.*]] = %[[A]], %[[D:.*]] = %[[B]]) -> (vector<32xi16>, vector<32xi16>)
// CHECK:     %[[X:.*]] = vector.load %{{.*}} : memref<?x?x32xbf16>, vector<32xbf16>
// CHECK-NOT: arith.extf
// CHECK:     %[[RAW:.*]] = arith.bitcast %[[X]] : vector<32xbf16> to vector<32xi16>
// CHECK:     %[[SIGNS:.*]] = arith.shrsi %[[RAW]], %[[SIGN]]
// CHECK:     %[[AND:.*]] = arith.andi %[[SIGNS]], %[[BITS]]
// CHECK:     %[[ORDER:.*]] = arith.xori %[[RAW]], %[[AND]]
// CHECK:     %[[NUMBER:.*]] = arith.subi %[[ORDER]], %[[LOWEST]]
// CHECK:     arith.maxui %[[C]], %[[NUMBER]]
// CHECK-NOT: arith.maximumf
// CHECK: arith.addi %[[R]]#0, %[[LOWEST]]
// CHECK: arith.bitcast %{{.*}} : vector<32xi16> to vector<32xbf16>
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @pool(%x: memref<?x?x32xbf16>, %y: memref<?x?x32xbf16>, %n: index) -> (vector<32xbf16>, vector<32xbf16>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lowest = arith.constant dense<0xFF800000> : vector<32xf32>
  %0:2 = scf.for %i = %zero to %n step %one iter_args(%a = %lowest, %b = %lowest) -> (vector<32xf32>, vector<32xf32>) {
    %1:2 = scf.for %j = %zero to %n step %one iter_args(%c = %a, %d = %b) -> (vector<32xf32>, vector<32xf32>) {
      %v = vector.load %x[%i, %j, %zero] : memref<?x?x32xbf16>, vector<32xbf16>
      %w = vector.load %y[%i, %j, %zero] : memref<?x?x32xbf16>, vector<32xbf16>
      %e = arith.extf %v : vector<32xbf16> to vector<32xf32>
      %f = arith.extf %w : vector<32xbf16> to vector<32xf32>
      %g = arith.maximumf %c, %e : vector<32xf32>
      %h = arith.maximumf %f, %d : vector<32xf32>
      scf.yield %g, %h : vector<32xf32>, vector<32xf32>
    }
    scf.yield %1#0, %1#1 : vector<32xf32>, vector<32xf32>
  }
  %2 = arith.truncf %0#0 {tir.flushes} : vector<32xf32> to vector<32xbf16>
  %3 = arith.truncf %0#1 : vector<32xf32> to vector<32xbf16>
  return %2, %3 : vector<32xbf16>, vector<32xbf16>
}

// Starts that are no f16, sums, a maximum that something else reads, and f32 that was never f16, are left.
// CHECK-LABEL: func.func @left(
// CHECK-NOT: arith.maxui
// CHECK: return
func.func @left(%x: memref<?x16xf16>, %y: memref<?x16xf32>, %n: index)
    -> (vector<16xf16>, vector<16xf16>, vector<16xf32>, vector<16xf16>, vector<16xf16>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %third = arith.constant dense<0.333> : vector<16xf32>
  %none = arith.constant dense<0.0> : vector<16xf32>
  %0:4 = scf.for %i = %zero to %n step %one iter_args(%a = %third, %b = %none, %c = %none, %d = %none)
      -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %v = vector.load %x[%i, %zero] : memref<?x16xf16>, vector<16xf16>
    %w = vector.load %y[%i, %zero] : memref<?x16xf32>, vector<16xf32>
    %e = arith.extf %v : vector<16xf16> to vector<16xf32>
    %f = arith.maximumf %a, %e : vector<16xf32>
    %g = arith.addf %b, %e : vector<16xf32>
    %h = arith.maximumf %c, %e : vector<16xf32>
    %k = arith.maximumf %d, %w : vector<16xf32>
    scf.yield %f, %g, %h, %k : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  %1 = arith.truncf %0#0 : vector<16xf32> to vector<16xf16>
  %2 = arith.truncf %0#1 : vector<16xf32> to vector<16xf16>
  %3 = arith.truncf %0#2 : vector<16xf32> to vector<16xf16>
  %4 = arith.truncf %0#3 : vector<16xf32> to vector<16xf16>
  return %1, %2, %0#2, %3, %4 : vector<16xf16>, vector<16xf16>, vector<16xf32>, vector<16xf16>, vector<16xf16>
}

// Beside the others, the one of f16 is one of numbers.
// CHECK-LABEL: func.func @beside(
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} -> (vector<16xf32>, vector<16xi16>)
// CHECK: arith.addf
// CHECK: arith.maxui
// CHECK: arith.bitcast %{{.*}} : vector<16xi16> to vector<16xf16>
func.func @beside(%x: memref<?x16xf16>, %n: index) -> (vector<16xf32>, vector<16xf16>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant dense<0.0> : vector<16xf32>
  %0:2 = scf.for %i = %zero to %n step %one iter_args(%a = %none, %b = %none) -> (vector<16xf32>, vector<16xf32>) {
    %v = vector.load %x[%i, %zero] : memref<?x16xf16>, vector<16xf16>
    %e = arith.extf %v : vector<16xf16> to vector<16xf32>
    %f = arith.addf %a, %e : vector<16xf32>
    %g = arith.maximumf %b, %e : vector<16xf32>
    scf.yield %f, %g : vector<16xf32>, vector<16xf32>
  }
  %1 = arith.truncf %0#1 : vector<16xf32> to vector<16xf16>
  return %0#0, %1 : vector<16xf32>, vector<16xf16>
}

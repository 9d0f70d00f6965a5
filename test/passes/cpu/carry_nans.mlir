// RUN: legato-opt %s --tir-carry-nans="target=llvm{cpu=x86-64-v4}" | filecheck %s
// RUN: legato-opt %s --tir-carry-nans="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2
// AVX2: arith.maximumf
// AVX2-NOT: arith.cmpf

// Two steps take one comparison for NaN; what is left of an odd number is a loop of its own.
// CHECK-LABEL: func.func @maximum(
// CHECK-SAME: %[[X:.*]]: memref<?x16xf32>, %[[N:.*]]: index, %[[START:.*]]: vector<16xf32>
// CHECK: %[[FIRST:.*]] = arith.cmpf ord, %[[START]], %[[START]]
// CHECK: %[[PAIRS:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[A:.*]] = %[[START]], %[[M:.*]] = %[[FIRST]]) -> (vector<16xf32>, vector<16xi1>)
// CHECK:   %[[V:.*]] = vector.load %[[X]][%[[I]]
// CHECK:   %[[G:.*]] = arith.cmpf ogt, %[[V]], %[[A]]
// CHECK:   %[[B:.*]] = arith.select %[[G]], %[[V]], %[[A]]
// CHECK:   %[[J:.*]] = arith.addi %[[I]]
// CHECK:   %[[W:.*]] = vector.load %[[X]][%[[J]]
// CHECK:   %[[H:.*]] = arith.cmpf ogt, %[[W]], %[[B]]
// CHECK:   %[[C:.*]] = arith.select %[[H]], %[[W]], %[[B]]
// CHECK:   %[[O:.*]] = arith.cmpf ord, %[[V]], %[[W]]
// CHECK:   %[[K:.*]] = arith.andi %[[M]], %[[O]]
// CHECK:   scf.yield %[[C]], %[[K]]
// CHECK: %[[ALL:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}} = %[[PAIRS]]#0, %{{.*}} = %[[PAIRS]]#1)
// CHECK: %[[NAN:.*]] = arith.constant dense<0x7FC00000>
// CHECK: %[[RESULT:.*]] = arith.select %[[ALL]]#1, %[[ALL]]#0, %[[NAN]]
// CHECK: return %[[RESULT]]
func.func @maximum(%x: memref<?x16xf32>, %n: index, %start: vector<16xf32>) -> vector<16xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (vector<16xf32>) {
    %v = vector.load %x[%i, %zero] : memref<?x16xf32>, vector<16xf32>
    %m = arith.maximumf %v, %a : vector<16xf32>
    scf.yield %m : vector<16xf32>
  }
  return %0 : vector<16xf32>
}

// What a step uses in another way, what may lose NaNs, and maxima of minima, are left.
// CHECK-LABEL: func.func @left(
// CHECK-NOT: arith.cmpf
// CHECK: return
func.func @left(%x: memref<?x16xf32>, %y: memref<?x16xf32>, %n: index, %start: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0:3 = scf.for %i = %zero to %n step %one iter_args(%a = %start, %b = %start, %c = %start) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>) {
    %v = vector.load %x[%i, %zero] : memref<?x16xf32>, vector<16xf32>
    %m = arith.maximumf %v, %a : vector<16xf32>
    vector.store %m, %y[%i, %zero] : memref<?x16xf32>, vector<16xf32>
    %k = arith.maximumf %v, %b fastmath<nnan> : vector<16xf32>
    %l = arith.maximumf %v, %c : vector<16xf32>
    %o = arith.minimumf %v, %l : vector<16xf32>
    scf.yield %m, %k, %o : vector<16xf32>, vector<16xf32>, vector<16xf32>
  }
  return %0#0, %0#1, %0#2 : vector<16xf32>, vector<16xf32>, vector<16xf32>
}

// RUN: legato-opt %s '--tir-split-masks=target=llvm{cpu=x86-64-v3}' | filecheck %s
// RUN: legato-opt %s '--tir-split-masks=target=llvm{cpu=x86-64-v4}' | filecheck %s --check-prefix=MASKS

// The first 11 halves are 8, 2 and 1. AVX-512 has masks for them.
// CHECK-LABEL: func.func @halves(
// CHECK: %[[A:.*]] = vector.load %arg0[%arg2] : memref<100xf16>, vector<8xf16>
// CHECK: %[[AT:.*]] = arith.addi %arg2, %
// CHECK: %[[B:.*]] = vector.load %arg0[%[[AT]]] : memref<100xf16>, vector<2xf16>
// CHECK: vector.load {{.*}} vector<1xf16>
// CHECK: vector.extract_strided_slice {{.*}} {offsets = [0], sizes = [8], strides = [1]}
// CHECK: vector.store %{{.*}}, %arg1[%arg2] : memref<100xf16>, vector<8xf16>
// CHECK: vector.store {{.*}} vector<2xf16>
// CHECK: vector.store {{.*}} vector<1xf16>
// CHECK-NOT: masked
// MASKS-LABEL: func.func @halves(
// MASKS: vector.maskedload
// MASKS: vector.maskedstore
func.func @halves(%x: memref<100xf16>, %out: memref<100xf16>, %i: index) {
  %mask = vector.constant_mask [11] : vector<16xi1>
  %others = arith.constant dense<0.0> : vector<16xf16>
  %0 = vector.maskedload %x[%i], %mask, %others : memref<100xf16>, vector<16xi1>, vector<16xf16> into vector<16xf16>
  vector.maskedstore %out[%i], %mask, %0 : memref<100xf16>, vector<16xi1>, vector<16xf16>
  return
}

// Masks that are a constant, with the lanes outside as given; no lane at all.
// CHECK-LABEL: func.func @bytes(
// CHECK: %[[X:.*]] = vector.load %arg0[%arg2] : memref<100xi8>, vector<2xi8>
// CHECK: %[[ALL:.*]] = vector.insert_strided_slice %[[X]], %arg3 {offsets = [0], strides = [1]} : vector<2xi8> into vector<4xi8>
// CHECK: return %[[ALL]], %arg3
func.func @bytes(%x: memref<100xi8>, %out: memref<100xi8>, %i: index, %others: vector<4xi8>) -> (vector<4xi8>, vector<4xi8>) {
  %mask = arith.constant dense<[true, true, false, false]> : vector<4xi1>
  %none = arith.constant dense<false> : vector<4xi1>
  %0 = vector.maskedload %x[%i], %mask, %others : memref<100xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  %1 = vector.maskedload %x[%i], %none, %others : memref<100xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  return %0, %1 : vector<4xi8>, vector<4xi8>
}

// AVX2 has masks for 32 bits. Lanes that are not the first, and a number that only the call knows, stay.
// CHECK-LABEL: func.func @stay(
// CHECK-COUNT-3: vector.maskedload
func.func @stay(%x: memref<100xf32>, %y: memref<100xi8>, %i: index, %n: index, %a: vector<4xf32>, %b: vector<4xi8>)
    -> (vector<4xf32>, vector<4xi8>, vector<4xi8>) {
  %first = vector.constant_mask [3] : vector<4xi1>
  %last = arith.constant dense<[false, true, true, true]> : vector<4xi1>
  %some = vector.create_mask %n : vector<4xi1>
  %0 = vector.maskedload %x[%i], %first, %a : memref<100xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  %1 = vector.maskedload %y[%i], %last, %b : memref<100xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  %2 = vector.maskedload %y[%i], %some, %b : memref<100xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
  return %0, %1, %2 : vector<4xf32>, vector<4xi8>, vector<4xi8>
}

// LLVM adds up numbers under a mask one after the other: lanes that are disabled become what changes nothing, and the mask goes.
// RUN: legato-opt %s --tir-legalize-intrinsics='target=llvm{cpu=x86-64-v3}' | filecheck %s

// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:.*]]: vector<16xf32>, %[[MASK:.*]]: vector<16xi1>, %[[START:.*]]: f32
// CHECK: %[[NONE:.*]] = arith.constant dense<-0.000000e+00>
// CHECK: %[[LANES:.*]] = arith.select %[[MASK]], %[[X]], %[[NONE]]
// CHECK: vector.reduction <add>, %[[LANES]], %[[START]] : vector<16xf32> into f32
// CHECK-NOT: vector.mask
func.func @sum(%x: vector<16xf32>, %mask: vector<16xi1>, %start: f32) -> f32 {
  %0 = vector.mask %mask { vector.reduction <add>, %x, %start : vector<16xf32> into f32 } : vector<16xi1> -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @product(
// CHECK: %[[NONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK: %[[LANES:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NONE]]
// CHECK: vector.reduction <mul>, %[[LANES]] : vector<16xf32> into f32
func.func @product(%x: vector<16xf32>, %mask: vector<16xi1>) -> f32 {
  %0 = vector.mask %mask { vector.reduction <mul>, %x : vector<16xf32> into f32 } : vector<16xi1> -> f32
  return %0 : f32
}

// Integers are added in any order anyway.
// CHECK-LABEL: func.func @integers(
// CHECK: vector.mask
func.func @integers(%x: vector<16xi32>, %mask: vector<16xi1>) -> i32 {
  %0 = vector.mask %mask { vector.reduction <add>, %x : vector<16xi32> into i32 } : vector<16xi1> -> i32
  return %0 : i32
}

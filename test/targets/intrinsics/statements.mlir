// A legalization may give statements: here an allocation and a loop.
// RUN: legato-opt %s --load %S/inputs/chain.py --tir-legalize-intrinsics=target=llvm | filecheck %s

// CHECK-LABEL: func.func @sum
// CHECK: %[[CELL:.*]] = memref.alloca() : memref<1xi32>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[CELL]]
// CHECK: %[[Y:.*]] = memref.load %[[CELL]]
// CHECK: return %[[Y]]
func.func @sum(%x: i32) -> i32 {
  %0 = "toy.sum"(%x) : (i32) -> i32
  return %0 : i32
}

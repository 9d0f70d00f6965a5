// RUN: legato-opt %s --tir-lower-loops=lanes=4 --cse | filecheck %s
// RUN: legato-opt %s --tir-lower-loops --cse | filecheck %s --check-prefix=WHOLE

// A GPU by Vulkan has vectors of four elements: a longer loop goes through several.
// CHECK-LABEL: func.func private @row(
// CHECK: %[[LANES:.*]] = arith.constant 4 : index
// CHECK: scf.for {{.*}} step %[[LANES]]
// CHECK: vector.load {{.*}} vector<4xf32>
// CHECK: vector.store {{.*}} vector<4xf32>
// WHOLE-NOT: scf.for
// WHOLE: vector.load {{.*}} vector<8xf32>
func.func private @row(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func} {
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    %0 = memref.load %a[%i] : memref<8xf32>
    memref.store %0, %b[%i] : memref<8xf32>
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "vectorized"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// RUN: legato-opt %s --tir-serialize-threads | filecheck %s
// RUN: not legato-opt %s --tir-lower-loops --reproducer=none 2>&1 | filecheck %s --check-prefix=BOUND

// Where there are no such threads, their loops are serial. They do not become scf loops as they are.
// CHECK: "tir.for"
// CHECK-NOT: thread
// CHECK: kind = "serial"
// CHECK-NOT: thread
// BOUND: the loop i is bound to threadIdx.x: run tir-lower-threads first for a GPU, or tir-serialize-threads for a CPU
func.func private @kernel(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32> attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    %v = memref.load %a[%i] : memref<8xf32>
    memref.store %v, %b[%i] : memref<8xf32>
    "tir.yield"() : () -> ()
  }) {kind = "thread", thread = "threadIdx.x", name = "i"} : (index, index) -> ()
  %r = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %r : tensor<8xf32>
}

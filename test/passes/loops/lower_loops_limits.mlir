// RUN: legato-opt %s --tir-lower-loops=limits=npu.scratchpad:512 | filecheck %s
// RUN: legato-opt %s --tir-lower-loops=limits=npu.other:8 | filecheck %s
// RUN: not legato-opt %s --tir-lower-loops=limits=npu.other:8,npu.scratchpad:511 --reproducer=none 2>&1 | filecheck %s --check-prefix=FULL
// RUN: not legato-opt %s --tir-lower-loops=limits=512 --reproducer=none 2>&1 | filecheck %s --check-prefix=TEXT

// FULL: the buffers of scope 'npu.scratchpad' take 512 bytes with 'second' of 256, and it has 511: copy smaller tiles
// TEXT: "512" is no limit of a scope: write scope:bytes, such as npu.scratchpad:262144

// CHECK-COUNT-2: memref.alloc() {alignment = 64 : i64} : memref<64xf32>
func.func private @twice(%x: tensor<64xf32>, %out: tensor<64xf32> {tir.out}) -> tensor<64xf32> attributes {tir.prim_func} {
  %a = bufferization.to_buffer %x : tensor<64xf32> to memref<64xf32>
  %b = bufferization.to_buffer %out : tensor<64xf32> to memref<64xf32>
  %one = "tir.alloc_buffer"() {name = "first", scope = "npu.scratchpad"} : () -> memref<64xf32>
  %two = "tir.alloc_buffer"() {name = "second", scope = "npu.scratchpad"} : () -> memref<64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %0 = memref.load %a[%i] : memref<64xf32>
    memref.store %0, %one[%i] : memref<64xf32>
    memref.store %0, %two[%i] : memref<64xf32>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %0 = memref.load %one[%i] : memref<64xf32>
    %1 = memref.load %two[%i] : memref<64xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %b[%i] : memref<64xf32>
  }
  %y = bufferization.to_tensor %b restrict writable : memref<64xf32> to tensor<64xf32>
  return %y : tensor<64xf32>
}

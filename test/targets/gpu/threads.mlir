// A hand-written kernel with loops bound to threads, from a file to the NVVM dialect and LLVM IR.
// RUN: legato-compile %s --target nvvm --emit scheduled -q | filecheck %s --check-prefix=LOOPS
// (as the stage was called before:)
// RUN: legato-compile %s --target nvvm --emit loops -q | filecheck %s --check-prefix=LOOPS
// RUN: legato-compile %s --target nvvm --emit outlined -q | filecheck %s --check-prefix=GPU
// RUN: legato-compile %s --target nvvm --emit nvvm -q | filecheck %s --check-prefix=NVVM
// RUN: legato-compile %s --target nvvm --emit ll -q | filecheck %s --check-prefix=LL
// RUN: not legato-compile %s --target llvm --emit llvm -q 2>&1 | filecheck %s --check-prefix=CPU

// LOOPS: gpu.launch blocks
// LOOPS-NOT: tir.for

// The kernel is named as its module; its shared buffer is aligned.
// GPU-LABEL: func.func private @reversed(
// GPU: gpu.launch_func @reversed_kernel::@reversed_kernel blocks in (%c4, %c1, %c1) threads in (%c96, %c1, %c1)
// GPU: gpu.func @reversed_kernel(
// GPU-SAME: workgroup(%{{[a-z0-9]+}} : memref<96xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64})
// GPU-SAME: known_block_size = array<i32: 96, 1, 1>
// GPU-SAME: known_grid_size = array<i32: 4, 1, 1>
// GPU: memref.store
// GPU: gpu.barrier
// GPU: memref.load
// GPU-NOT: gpu.barrier
// GPU: gpu.return

// NVVM: llvm.mlir.global internal @__wg_reversed_kernel_0() {addr_space = 3 : i32, alignment = 128 : i64}
// NVVM: llvm.func @reversed_kernel(
// NVVM-SAME: nvvm.maxntid = array<i32: 96, 1, 1>
// NVVM: nvvm.barrier

// LL: addrspace(3) global [96 x float] undef, align 128
// LL: define ptx_kernel void @reversed_kernel(
// LL: call void @llvm.nvvm.barrier

// CPU: tir-serialize-threads failed on memref.load: the steps of the loop j, bound to threadIdx.x, use each other's elements of a shared buffer
func.func @main(%x: tensor<4x96xf32> {relax.name = "x"}) -> tensor<4x96xf32> {
  %e = tensor.empty() : tensor<4x96xf32>
  %0 = call @reversed(%x, %e) : (tensor<4x96xf32>, tensor<4x96xf32>) -> tensor<4x96xf32>
  return %0 : tensor<4x96xf32>
}
func.func private @reversed(%x: tensor<4x96xf32>, %out: tensor<4x96xf32> {tir.out}) -> tensor<4x96xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<4x96xf32> to memref<4x96xf32>
  %b = bufferization.to_buffer %out : tensor<4x96xf32> to memref<4x96xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c95 = arith.constant 95 : index
  %c96 = arith.constant 96 : index
  %s = "tir.alloc_buffer"() {name = "s", scope = "shared"} : () -> memref<96xf32>
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c96) ({
    ^bb0(%j: index):
      %0 = memref.load %a[%i, %j] : memref<4x96xf32>
      memref.store %0, %s[%j] : memref<96xf32>
      %1 = arith.subi %c95, %j : index
      %2 = memref.load %s[%1] : memref<96xf32>
      memref.store %2, %b[%i, %j] : memref<4x96xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<4x96xf32> to tensor<4x96xf32>
  return %y : tensor<4x96xf32>
}

// Kernels for NVIDIA's GPUs, as far as the NVVM dialect and LLVM IR: no GPU is needed.
// RUN: legato-compile %s --target 'nvvm{schedules=false}' --emit outlined -q | filecheck %s --check-prefix=GPU
// RUN: legato-compile %s --target 'nvvm{schedules=false}' --emit nvvm -q | filecheck %s --check-prefix=NVVM
// RUN: legato-compile %s --target 'nvvm{schedules=false}' --emit ll -q | filecheck %s --check-prefix=LL
// RUN: legato-compile %s --target 'nvvm{approx=true schedules=false}' --emit ll -q | filecheck %s --check-prefix=APPROX

// RUN: not legato-opt --tir-launch-loops=target=llvm --reproducer=none %s 2>&1 | filecheck %s --check-prefix=CPU
// CPU: the target 'llvm' has no threads to map to: it is no GPU

// Without default schedules. An elementwise kernel of dynamic size: one thread for each element, 128 in a block; the last block may be partial.
// GPU-LABEL: func.func private @kernel_exp(
// GPU: %[[N:.*]] = memref.dim
// GPU: %[[BLOCKS:.*]] = arith.ceildivsi %{{.*}}, %c128
// GPU: gpu.launch_func @kernel_exp_kernel::@kernel_exp_kernel blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c128, %c1, %c1)
// GPU-LABEL: gpu.module @kernel_exp_kernel
// GPU: gpu.func @kernel_exp_kernel(%[[TOTAL:.*]]: index, {{.*}}) kernel attributes {known_block_size = array<i32: 128, 1, 1>}
// GPU: gpu.block_id x
// GPU: gpu.thread_id x
// GPU: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %[[TOTAL]]
// GPU: scf.if %[[INSIDE]]
// GPU: memref.load
// GPU: math.exp
// GPU: memref.store

// A reduction and a matmul: the reduced loop runs inside a thread.
// GPU-NOT: scf.parallel
// GPU: gpu.func @kernel_sum
// GPU: scf.if
// GPU: scf.for
// GPU: arith.addf
// GPU: gpu.func @kernel_matmul
// GPU: scf.if
// GPU: scf.for
// GPU: arith.mulf

// NVVM-LABEL: gpu.module @kernel_exp_kernel
// NVVM: llvm.func @__nv_expf(f32)
// NVVM: llvm.func @kernel_exp_kernel({{.*}}nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>
// NVVM: nvvm.read.ptx.sreg.ctaid.x
// NVVM: nvvm.read.ptx.sreg.tid.x
// NVVM: llvm.call @__nv_expf

// LL: define ptx_kernel void @kernel_exp_kernel(
// LL: call float @__nv_expf(float
// LL: define ptx_kernel void @kernel_matmul_kernel(

// APPROX: call float @llvm.nvvm.ex2.approx.f32(float

func.func @main(%x: tensor<?x40xf32, #relax.dims<["n", 40]>> {relax.name = "x"}, %w: tensor<40x24xf32> {relax.name = "w"})
    -> (tensor<?x40xf32, #relax.dims<["n", 40]>>, tensor<40xf32>, tensor<?x24xf32, #relax.dims<["n", 24]>>) {
  %0 = "relax.exp"(%x) : (tensor<?x40xf32, #relax.dims<["n", 40]>>) -> tensor<?x40xf32, #relax.dims<["n", 40]>>
  %1 = "relax.sum"(%x) {axis = array<i64: 0>} : (tensor<?x40xf32, #relax.dims<["n", 40]>>) -> tensor<40xf32>
  %2 = "relax.matmul"(%x, %w) : (tensor<?x40xf32, #relax.dims<["n", 40]>>, tensor<40x24xf32>) -> tensor<?x24xf32, #relax.dims<["n", 24]>>
  return %0, %1, %2 : tensor<?x40xf32, #relax.dims<["n", 40]>>, tensor<40xf32>, tensor<?x24xf32, #relax.dims<["n", 24]>>
}

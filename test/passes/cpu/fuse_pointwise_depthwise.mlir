// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-fuse-pointwise-depthwise{target="llvm{cpu=x86-64-v3}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-fuse-pointwise-depthwise{target="llvm{cpu=x86-64-v3,threads=2}"})' | filecheck %s --check-prefix=THREADS
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-fuse-pointwise-depthwise{target="llvm{cpu=x86-64-v2}"})' | filecheck %s --check-prefix=PLAIN

// Two pairs of calls become calls of one kernel, whose filter is packed. Its work is that of both, without what is passed on.
// CHECK-LABEL: func.func @main(
// CHECK: %[[ONE:\w+]] = call @fused_pointwise_depthwise(%{{.*}}) {relax.ops = ["relax.conv2d a", "relax.conv2d b"], relax.work = ["300", "14080"]}
// CHECK-SAME: (tensor<1x20x30x16xf32>, tensor<4x16x16xf32>, tensor<3x3x64xf32>, tensor<1x20x30x64xf32>)
// CHECK: %[[TWO:\w+]] = call @fused_pointwise_depthwise(
// CHECK: return %[[ONE]], %[[TWO]]

// What is read twice stays, and so does its kernel.
// CHECK-LABEL: func.func @read_twice(
// CHECK: call @pointwise(
// CHECK: call @depthwise(
// CHECK-LABEL: func.func private @pointwise(
// CHECK: linalg.conv_2d_nhwc_hwcf
// CHECK-LABEL: func.func private @depthwise(

// Rows are computed before the windows that reach them first, and kept in the place of their number, modulo 4.
// CHECK-LABEL: func.func private @fused_pointwise_depthwise(
// CHECK: %[[RING:\w+]] = memref.alloc() {alignment = 64 : i64} : memref<1x4x30x16xf32>
// CHECK: scf.for %[[PANEL:\w+]] = %{{.*}} to %c4
// CHECK: scf.for %[[ROW:\w+]] = %{{.*}} iter_args(%[[NEXT:\w+]] = %c0
// CHECK: %[[FIRST:\w+]] = arith.maxsi %[[NEXT]]
// CHECK: scf.for %[[Y:\w+]] = %[[FIRST]] to
// CHECK: arith.remui %[[Y]], %c4
// CHECK: scf.for
// CHECK: %{{.*}}:12 = scf.for %[[CHANNEL:\w+]] = %{{.*}} to %c16
// CHECK: memref.prefetch
// CHECK-COUNT-2: vector.load
// CHECK-COUNT-12: vector.fma
// CHECK: vector.store %{{.*}}, %[[RING]]
// CHECK: vector.load %[[RING]]
// CHECK: scf.yield
// CHECK: return

// Threads have rows, and memory, of their own.
// THREADS-LABEL: func.func private @fused_pointwise_depthwise(
// THREADS: scf.parallel
// THREADS-NEXT: memref.alloc() {alignment = 64 : i64} : memref<1x4x30x16xf32>

// PLAIN-LABEL: func.func @main(
// PLAIN: call @pointwise(
// PLAIN: call @depthwise(

func.func @main(%x: tensor<1x20x30x16xf32>, %y: tensor<1x20x30x16xf32>, %w: tensor<3x3x64xf32>)
    -> (tensor<1x20x30x64xf32>, tensor<1x20x30x64xf32>) attributes {relax.signature = (tensor<1x20x30x16xf32>, tensor<1x20x30x16xf32>, tensor<3x3x64xf32>) -> (tensor<1x20x30x64xf32>, tensor<1x20x30x64xf32>)} {
  %f = "relax.constant"() {value = dense<1.0> : tensor<1x1x16x64xf32>} : () -> tensor<1x1x16x64xf32>
  %empty = tensor.empty() : tensor<1x20x30x64xf32>
  %0 = call @pointwise(%x, %f, %empty) {relax.ops = ["relax.conv2d a"], relax.work = ["100", "160000"]} : (tensor<1x20x30x16xf32>, tensor<1x1x16x64xf32>, tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %1 = call @depthwise(%0, %w, %empty) {relax.ops = ["relax.conv2d b"], relax.work = ["200", "161280"]} : (tensor<1x20x30x64xf32>, tensor<3x3x64xf32>, tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %2 = call @pointwise(%y, %f, %empty) : (tensor<1x20x30x16xf32>, tensor<1x1x16x64xf32>, tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %3 = call @depthwise(%2, %w, %empty) : (tensor<1x20x30x64xf32>, tensor<3x3x64xf32>, tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  return %1, %3 : tensor<1x20x30x64xf32>, tensor<1x20x30x64xf32>
}

func.func @read_twice(%x: tensor<1x20x30x16xf32>, %w: tensor<3x3x64xf32>)
    -> (tensor<1x20x30x64xf32>, tensor<1x20x30x64xf32>) attributes {relax.signature = (tensor<1x20x30x16xf32>, tensor<3x3x64xf32>) -> (tensor<1x20x30x64xf32>, tensor<1x20x30x64xf32>)} {
  %f = "relax.constant"() {value = dense<1.0> : tensor<1x1x16x64xf32>} : () -> tensor<1x1x16x64xf32>
  %empty = tensor.empty() : tensor<1x20x30x64xf32>
  %0 = call @pointwise(%x, %f, %empty) : (tensor<1x20x30x16xf32>, tensor<1x1x16x64xf32>, tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %1 = call @depthwise(%0, %w, %empty) : (tensor<1x20x30x64xf32>, tensor<3x3x64xf32>, tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  return %0, %1 : tensor<1x20x30x64xf32>, tensor<1x20x30x64xf32>
}

func.func private @pointwise(%x: tensor<1x20x30x16xf32>, %f: tensor<1x1x16x64xf32>,
                             %out: tensor<1x20x30x64xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %0 = linalg.conv_2d_nhwc_hwcf ins(%x, %f : tensor<1x20x30x16xf32>, tensor<1x1x16x64xf32>) outs(%fill : tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  return %0 : tensor<1x20x30x64xf32>
}

func.func private @depthwise(%x: tensor<1x20x30x64xf32>, %w: tensor<3x3x64xf32>,
                             %out: tensor<1x20x30x64xf32> {bufferization.writable = true, tir.out}) -> tensor<1x20x30x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x20x30x64xf32> to tensor<1x22x32x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  %0 = linalg.depthwise_conv_2d_nhwc_hwc ins(%padded, %w : tensor<1x22x32x64xf32>, tensor<3x3x64xf32>) outs(%fill : tensor<1x20x30x64xf32>) -> tensor<1x20x30x64xf32>
  return %0 : tensor<1x20x30x64xf32>
}

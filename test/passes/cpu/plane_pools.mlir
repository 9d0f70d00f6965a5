// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-plane-pools{target="llvm{cpu=x86-64-v3}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-plane-pools{target="llvm{cpu=x86-64-v3,threads=2}"})' | filecheck %s --check-prefix=THREADS

// Three rows of the image are combined, in a branch for rows whose windows reach out of it by a loop that leaves out the border. What comes
// of it is kept as two rows, of the even and the odd columns of the padded image, from which vectors of neighbouring windows are read.
// CHECK-LABEL: func.func private @strided(
// CHECK: %[[X:\w+]] = bufferization.to_buffer %{{.*}} read_only : tensor<1x3x40x64xf32>
// CHECK: %[[KEPT:\w+]] = memref.alloc() {{.*}} : memref<1x2x{{.*}}xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c60
// CHECK: scf.if
// CHECK-COUNT-24: vector.load %[[X]]
// CHECK: } else {
// CHECK: %{{.*}}:8 = scf.for
// CHECK-COUNT-8: vector.load %[[X]]
// CHECK-NOT: vector.load %[[X]]
// CHECK: scf.yield
// CHECK: vector.shuffle
// CHECK: vector.store %{{.*}}, %[[KEPT]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %c32{{.*}} step %c8
// CHECK-COUNT-3: vector.load %[[KEPT]]
// CHECK: vector.store
// CHECK-NOT: linalg
// CHECK: return

// THREADS-LABEL: func.func private @strided(
// THREADS-NOT: scf.parallel
// THREADS-LABEL: func.func private @many(
// THREADS: memref.alloc() {{.*}} : memref<2x1x{{.*}}xf32>
// THREADS: scf.parallel
func.func private @strided(%x: tensor<1x3x40x64xf32>, %out: tensor<1x3x20x32xf32> {tir.out}) -> tensor<1x3x20x32xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x3x40x64xf32> to tensor<1x3x41x65xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x3x20x32xf32>) -> tensor<1x3x20x32xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%padded, %1 : tensor<1x3x41x65xf32>, tensor<3x3xf32>) outs(%0 : tensor<1x3x20x32xf32>) -> tensor<1x3x20x32xf32>
  return %2 : tensor<1x3x20x32xf32>
}

// Without a border there is one way.
// CHECK-LABEL: func.func private @many(
// CHECK-NOT: scf.if
// CHECK: return
func.func private @many(%x: tensor<8x30x40x64xf32>, %out: tensor<8x30x38x62xf32> {tir.out}) -> tensor<8x30x38x62xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x30x38x62xf32>) -> tensor<8x30x38x62xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = linalg.pooling_nchw_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%x, %1 : tensor<8x30x40x64xf32>, tensor<3x3xf32>) outs(%0 : tensor<8x30x38x62xf32>) -> tensor<8x30x38x62xf32>
  return %2 : tensor<8x30x38x62xf32>
}

// A border of other numbers, and columns far apart, are left to loops of scalars.
// CHECK-LABEL: func.func private @bordered(
// CHECK: linalg.pooling_nchw_max
func.func private @bordered(%x: tensor<1x3x8x8xf32>, %out: tensor<1x3x10x8xf32> {tir.out}) -> tensor<1x3x10x8xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 0] high[0, 0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x8x8xf32> to tensor<1x3x10x8xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x3x10x8xf32>) -> tensor<1x3x10x8xf32>
  %1 = tensor.empty() : tensor<1x1xf32>
  %2 = linalg.pooling_nchw_max ins(%padded, %1 : tensor<1x3x10x8xf32>, tensor<1x1xf32>) outs(%0 : tensor<1x3x10x8xf32>) -> tensor<1x3x10x8xf32>
  return %2 : tensor<1x3x10x8xf32>
}

// CHECK-LABEL: func.func private @far(
// CHECK: linalg.pooling_nchw_max
func.func private @far(%x: tensor<1x3x8x8xf32>, %out: tensor<1x3x8x2xf32> {tir.out}) -> tensor<1x3x8x2xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x3x8x2xf32>) -> tensor<1x3x8x2xf32>
  %1 = tensor.empty() : tensor<1x1xf32>
  %2 = linalg.pooling_nchw_max {strides = dense<[1, 7]> : tensor<2xi64>} ins(%x, %1 : tensor<1x3x8x8xf32>, tensor<1x1xf32>)
    outs(%0 : tensor<1x3x8x2xf32>) -> tensor<1x3x8x2xf32>
  return %2 : tensor<1x3x8x2xf32>
}

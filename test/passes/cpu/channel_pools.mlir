// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-channel-pools{target="llvm{cpu=x86-64-v4}"})' | filecheck %s
// RUN: legato-opt %s --pass-pipeline='builtin.module(tir-channel-pools{target="llvm{cpu=x86-64-v4,threads=2}"})' | filecheck %s --check-prefix=THREADS

// A tile of four maxima at the left end of a row, whose first windows reach out of it: of its six columns but the first, a loop over the
// window's rows reads five; whole tiles; one at the right end; or single positions, where a row is short, by branches.
// CHECK-LABEL: func.func private @maxima(
// CHECK: %[[X:.*]] = bufferization.to_buffer %arg0 read_only
// CHECK: scf.if
// CHECK: scf.for {{.*}} = %c0{{.*}} to %c64
// CHECK: %{{.*}}:4 = scf.for
// CHECK: memref.subview %[[X]]
// CHECK-COUNT-5: vector.load
// CHECK-NOT: vector.load
// CHECK: scf.yield
// CHECK-COUNT-4: vector.store
// CHECK: scf.for
// CHECK: memref.subview %[[X]]
// CHECK-COUNT-6: vector.load
// CHECK-NOT: linalg
// CHECK: return
// THREADS-LABEL: func.func private @maxima(
// THREADS: scf.parallel
func.func private @maxima(%x: tensor<?x?x?x64xf32>, %out: tensor<?x?x?x64xf32> {tir.out}) -> tensor<?x?x?x64xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<?x?x?x64xf32> to tensor<?x?x?x64xf32>
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %1 = tensor.empty() : tensor<3x3xf32>
  %2 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%padded, %1 : tensor<?x?x?x64xf32>, tensor<3x3xf32>) outs(%0 : tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %2 : tensor<?x?x?x64xf32>
}

// Those of known sizes, and of few channels, are left as they are.
// CHECK-LABEL: func.func private @known(
// CHECK: linalg.pooling_nhwc_max
// CHECK-LABEL: func.func private @few(
// CHECK: linalg.pooling_nhwc_max
func.func private @known(%x: tensor<1x8x8x64xf32>, %out: tensor<1x7x7x64xf32> {tir.out}) -> tensor<1x7x7x64xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<1x7x7x64xf32>) -> tensor<1x7x7x64xf32>
  %1 = tensor.empty() : tensor<2x2xf32>
  %2 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%x, %1 : tensor<1x8x8x64xf32>, tensor<2x2xf32>) outs(%0 : tensor<1x7x7x64xf32>) -> tensor<1x7x7x64xf32>
  return %2 : tensor<1x7x7x64xf32>
}
func.func private @few(%x: tensor<?x?x?x3xf32>, %out: tensor<?x?x?x3xf32> {tir.out}) -> tensor<?x?x?x3xf32> attributes {tir.prim_func} {
  %low = arith.constant 0xFF800000 : f32
  %0 = linalg.fill ins(%low : f32) outs(%out : tensor<?x?x?x3xf32>) -> tensor<?x?x?x3xf32>
  %1 = tensor.empty() : tensor<2x2xf32>
  %2 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%x, %1 : tensor<?x?x?x3xf32>, tensor<2x2xf32>) outs(%0 : tensor<?x?x?x3xf32>) -> tensor<?x?x?x3xf32>
  return %2 : tensor<?x?x?x3xf32>
}

// RUN: legato-opt %s --tir-schedule=target=llvm{cpu=x86-64-v3} | filecheck %s
// RUN: legato-opt %s --tir-schedule=target=generic | filecheck %s --check-prefix=NONE

// A kernel is tiled and vectorized by the transform script that its target has for it; a target without schedules leaves it as it is.
// CHECK-LABEL: func.func private @kernel
// CHECK-NOT: linalg.matmul
// CHECK: vector.contract
// NONE: linalg.matmul
func.func private @kernel(%x: tensor<16x64xf32>, %w: tensor<64x64xf32>, %out: tensor<16x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<16x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<16x64xf32>) -> tensor<16x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %1 : tensor<16x64xf32>
}

// A window over an axis of size 1 reads a slice of the input: with the axis dropped, the index d1 * 2 + d2 is d2, and the input's size
// its extent.
// CHECK-LABEL: func.func private @one_window
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 2] [1, 1] : tensor<?x3xf32> to tensor<?x2xf32>
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%extracted_slice, %{{.*}} : tensor<?x2xf32>, tensor<2xf32>)
func.func private @one_window(%x: tensor<?x3xf32>, %w: tensor<2xf32>, %out: tensor<?x1xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x1xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x1xf32>) -> tensor<?x1xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b * 2 + c)>, affine_map<(a, b, c) -> (c)>, affine_map<(a, b, c) -> (a, b)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<?x3xf32>, tensor<2xf32>) outs(%0 : tensor<?x1xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x1xf32>
  return %1 : tensor<?x1xf32>
}

// A kernel that no schedule takes keeps its loops, but its packed weight is unpacked: nothing lowers linalg.unpack later.
// CHECK-LABEL: func.func private @unscheduled
// CHECK-NOT: linalg.unpack
// CHECK: linalg.transpose
// CHECK: linalg.copy
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func private @unscheduled(%x: tensor<1x8x?x8xf32>, %w: tensor<5x2x2x8x1x1x1x8xf32>, %n: index,
                               %out: tensor<1x?x?x33xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x?x?x33xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x8x33xf32>
  %u = linalg.unpack %w outer_dims_perm = [3, 0, 1, 2] inner_dims_pos = [0, 1, 2, 3] inner_tiles = [1, 1, 1, 8] into %e
    : tensor<5x2x2x8x1x1x1x8xf32> -> tensor<2x2x8x33xf32>
  %0 = tensor.pad %x low[0, 1, 0, 0] high[0, %n, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x8x?x8xf32> to tensor<1x?x?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x?x?x33xf32>) -> tensor<1x?x?x33xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%0, %u : tensor<1x?x?x8xf32>, tensor<2x2x8x33xf32>) outs(%f : tensor<1x?x?x33xf32>) -> tensor<1x?x?x33xf32>
  return %1 : tensor<1x?x?x33xf32>
}

// Kernels that differ only in numbers of arithmetic are scheduled once; each keeps its own numbers, its name, and what is known of it.
// CHECK-LABEL: func.func private @scaled_by_half(
// CHECK-SAME: tir.magnitude = 1.0
// CHECK-DAG: arith.constant 5.000000e-01 : f32
// CHECK-DAG: arith.constant 3 : i32
// CHECK: vector.transfer_read
// CHECK: vector.transfer_write
// CHECK-LABEL: func.func private @scaled_by_quarter(
// CHECK-SAME: tir.magnitude = 2.0
// CHECK-DAG: arith.constant 2.500000e-01 : f32
// CHECK-DAG: arith.constant 7 : i32
// CHECK: vector.transfer_read
// CHECK: vector.transfer_write
func.func private @scaled_by_half(%x: tensor<16x64xf32> {tir.magnitude = 1.0}, %out: tensor<16x64xi32> {tir.out, bufferization.writable = true})
    -> tensor<16x64xi32> attributes {tir.prim_func} {
  %half = arith.constant 0.5 : f32
  %three = arith.constant 3 : i32
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<16x64xf32>) outs(%out : tensor<16x64xi32>) {
  ^bb0(%p: f32, %o: i32):
    %m = arith.mulf %p, %half : f32
    %i = arith.fptosi %m : f32 to i32
    %s = arith.addi %i, %three : i32
    linalg.yield %s : i32
  } -> tensor<16x64xi32>
  return %0 : tensor<16x64xi32>
}
func.func private @scaled_by_quarter(%x: tensor<16x64xf32> {tir.magnitude = 2.0}, %out: tensor<16x64xi32> {tir.out, bufferization.writable = true})
    -> tensor<16x64xi32> attributes {tir.prim_func} {
  %quarter = arith.constant 0.25 : f32
  %seven = arith.constant 7 : i32
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<16x64xf32>) outs(%out : tensor<16x64xi32>) {
  ^bb0(%p: f32, %o: i32):
    %m = arith.mulf %p, %quarter : f32
    %i = arith.fptosi %m : f32 to i32
    %s = arith.addi %i, %seven : i32
    linalg.yield %s : i32
  } -> tensor<16x64xi32>
  return %0 : tensor<16x64xi32>
}

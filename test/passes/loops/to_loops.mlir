// RUN: legato-opt %s --split-input-file --tir-to-loops | filecheck %s
// RUN: legato-opt %s --split-input-file --emit=script | filecheck %s --check-prefix=SCRIPT

// A plain nest becomes loops around a block, with its init.
// CHECK-LABEL: func.func private @matmul(
// CHECK-SAME: tir.state = "written"
// CHECK-NOT: linalg
// CHECK: "tir.block"
// CHECK: kinds = ["spatial", "spatial", "reduce"]
// SCRIPT-LABEL: def matmul(x0: T.Buffer((4, 8), "float32"), x1: T.Buffer((8, 6), "float32"), out: T.Buffer((4, 6), "float32")):
// SCRIPT: for i0, i1, i2 in T.grid(4, 6, 8):
// SCRIPT: T.axis.remap("SSR", [i0, i1, i2])
// SCRIPT: out[v0, v1] = out[v0, v1] + x0[v0, v2] * x1[v2, v1]
func.func private @matmul(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>, %out: tensor<4x6xf32> {tir.out}) -> tensor<4x6xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// Puts into an input and into a constant go to copies of these, not to their own memory; the first copy is the output.
// CHECK-LABEL: func.func private @overwritten(
// SCRIPT-LABEL: def overwritten(x0: T.Buffer((2,), "float32"), x1: T.Buffer((6,), "float32"), out0: T.Buffer((6,), "float32"), out1: T.Buffer((3,), "float32")):
// SCRIPT: out0[v0] = x1[v0]
// SCRIPT: out0[v0 * 2] = x0[v0]
// SCRIPT: out1[v0] = table[v0]
// SCRIPT: out1[v0 + 1] = x0[v0]
func.func private @overwritten(%x: tensor<2xf32>, %y: tensor<6xf32>, %out: tensor<6xf32> {tir.out}, %out_1: tensor<3xf32> {tir.out})
    -> (tensor<6xf32>, tensor<3xf32>) attributes {tir.prim_func} {
  %constant = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = tensor.insert_slice %x into %y[0] [2] [2] : tensor<2xf32> into tensor<6xf32>
  %1 = tensor.insert_slice %x into %constant[1] [2] [1] : tensor<2xf32> into tensor<3xf32>
  return %0, %1 : tensor<6xf32>, tensor<3xf32>
}

// -----

// A start that is never read needs no copy, if it is an input.
// SCRIPT-LABEL: def unread(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
// SCRIPT-NEXT: for i0 in range(4):
// SCRIPT: out[v0] = -x[v0]
// SCRIPT-NOT: for
func.func private @unread(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.negf %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What is put into a part of the output is copied there by a block.
// CHECK-LABEL: func.func private @padded(
// CHECK-NOT: tensor.insert_slice
// CHECK: "tir.for"
// CHECK: memref.store %{{.*}}, %[[OUT:.*]][%{{.*}}]
// CHECK: bufferization.to_tensor %[[OUT]]
// SCRIPT-LABEL: def padded(x: T.Buffer((4,), "float32"), out: T.Buffer((6,), "float32")):
// SCRIPT: out[v0] = 0.0
// SCRIPT: out[v0 + 1] = x[v0]
func.func private @padded(%x: tensor<4xf32>, %out: tensor<6xf32> {tir.out}) -> tensor<6xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<6xf32>) -> tensor<6xf32>
  %1 = tensor.insert_slice %x into %0[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// What is more than nests goes through buffers, without blocks: a slice at a place that is not known.
// CHECK-LABEL: func.func private @shifted(
// CHECK-NOT: tensor.extract_slice
// CHECK-NOT: "tir.block"
// CHECK: "tir.for"
// SCRIPT-LABEL: def shifted(
// SCRIPT: out[i] = -x0[n1 + i]
func.func private @shifted(%x: tensor<8xf32>, %k: index, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %part = tensor.extract_slice %x[%k] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%part : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One empty tensor that two fills start from: each gets its own buffer, or the second would overwrite the first.
// CHECK-LABEL: func.func private @two_sums(
// CHECK-COUNT-2: "tir.alloc_buffer"
// SCRIPT-LABEL: def two_sums(
func.func private @two_sums(%x: tensor<4x8xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i)>],
                       iterator_types = ["parallel", "reduction"]} ins(%x, %1 : tensor<4x8xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %d = arith.subf %a, %m : f32
    %s = arith.addf %b, %d : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%1, %2 : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A condition that gives several values stores them: scripts have no other name for both.
// CHECK-LABEL: func.func private @either(
// CHECK: scf.if %{{.*}} {
// CHECK: memref.store %{{.*}}, %[[FIRST:[0-9a-z_]+]][] : memref<f32>
// CHECK: memref.store %{{.*}}, %[[SECOND:[0-9a-z_]+]][] : memref<i64>
// CHECK: } else {
// CHECK: memref.store %{{.*}}, %[[FIRST]][] : memref<f32>
// CHECK: memref.store %{{.*}}, %[[SECOND]][] : memref<i64>
// CHECK: }
// CHECK: memref.load %[[FIRST]][]
// SCRIPT-LABEL: def either(
// SCRIPT: if
// SCRIPT: else:
func.func private @either(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xi64>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant -1 : i64
  %0:3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%o = %out, %best = %zero, %at = %none) -> (tensor<4xf32>, f32, i64) {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %more = arith.cmpf ogt, %v, %best : f32
    %1:2 = scf.if %more -> (f32, i64) {
      %w = tensor.extract %y[%i] : tensor<4xf32>
      %k = tensor.extract %z[%i] : tensor<4xi64>
      scf.yield %w, %k : f32, i64
    } else {
      scf.yield %best, %at : f32, i64
    }
    %f = arith.sitofp %1#1 : i64 to f32
    %s = arith.addf %f, %1#0 : f32
    %o2 = tensor.insert %s into %o[%i] : tensor<4xf32>
    scf.yield %o2, %1#0, %1#1 : tensor<4xf32>, f32, i64
  }
  return %0#0 : tensor<4xf32>
}

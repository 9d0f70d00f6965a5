// RUN: legato-opt %s --tir-prepare-contractions --split-input-file | filecheck %s

// A contraction of dynamic size that is returned as it is gets a reader; its result is a tensor of its own then.
// CHECK-LABEL: func.func private @dynamic
// CHECK: %[[OWN:.*]] = tensor.empty(%{{.*}}) : tensor<?x64xf32>
// CHECK: linalg.fill {{.*}} outs(%[[OWN]]
// CHECK: %[[PRODUCT:.*]] = linalg.matmul
// CHECK: %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[PRODUCT]], %{{.*}} : tensor<?x64xf32>, f32) outs(%arg2
// CHECK: return %[[COPY]]
func.func private @dynamic(%x: tensor<?x8xf32>, %w: tensor<8x64xf32>, %out: tensor<?x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// A static one does not.
// CHECK-LABEL: func.func private @static
// CHECK-NOT: linalg.generic
func.func private @static(%x: tensor<4x8xf32>, %w: tensor<8x64xf32>, %out: tensor<4x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<4x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x64xf32>) outs(%0 : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

// The product becomes the first operand of what reads it: its sizes are those that tiles are cut by.
// CHECK-LABEL: func.func private @second
// CHECK: %[[PRODUCT:.*]] = linalg.matmul
// CHECK: linalg.generic {indexing_maps = [#[[SAME:.*]], #[[ROW:.*]], #[[SAME]]], {{.*}} ins(%[[PRODUCT]], %arg2 : tensor<?x64xf32>, tensor<64xi32>)
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %[[B:.*]]: i32, %{{.*}}: f32):
// CHECK: %[[F:.*]] = arith.sitofp %[[B]]
// CHECK: arith.subf %[[F]], %[[P]]
func.func private @second(%x: tensor<?x8xf32>, %w: tensor<8x64xf32>, %b: tensor<64xi32>, %out: tensor<?x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%b, %1 : tensor<64xi32>, tensor<?x64xf32>) outs(%out : tensor<?x64xf32>) {
  ^bb0(%p: i32, %q: f32, %o: f32):
    %f = arith.sitofp %p : i32 to f32
    %3 = arith.subf %f, %q : f32
    linalg.yield %3 : f32
  } -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// -----

// A contraction that adds to the values of another op: that op's destination is the new tensor, and the copy's is the output.
// CHECK-LABEL: func.func private @bias
// CHECK: %[[OWN:.*]] = tensor.empty(%{{.*}}) : tensor<?x64xf32>
// CHECK: %[[BIAS:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<64xf32>) outs(%[[OWN]]
// CHECK: %[[PRODUCT:.*]] = linalg.matmul {{.*}} outs(%[[BIAS]]
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %{{.*}} : tensor<?x64xf32>, f32) outs(%arg3
func.func private @bias(%x: tensor<?x8xf32>, %w: tensor<8x64xf32>, %b: tensor<64xf32>, %out: tensor<?x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x64xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<64xf32>) outs(%out : tensor<?x64xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<?x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// One that adds to what the output holds begins with a copy of it.
// CHECK-LABEL: func.func private @in_place
// CHECK: %[[OWN:.*]] = tensor.empty(%{{.*}}) : tensor<?x64xf32>
// CHECK: %[[HELD:.*]] = linalg.generic {{.*}} ins(%arg2 : tensor<?x64xf32>) outs(%[[OWN]]
// CHECK: %[[PRODUCT:.*]] = linalg.matmul {{.*}} outs(%[[HELD]]
// CHECK: linalg.generic {{.*}} ins(%[[PRODUCT]], %{{.*}} : tensor<?x64xf32>, f32) outs(%arg2
func.func private @in_place(%x: tensor<?x8xf32>, %w: tensor<8x64xf32>, %out: tensor<?x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x64xf32> attributes {tir.prim_func} {
  %0 = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x64xf32>) outs(%out : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

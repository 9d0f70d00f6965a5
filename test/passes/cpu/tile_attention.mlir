// RUN: legato-opt %s --split-input-file --tir-tile-attention='target=llvm{cpu=x86-64-v4}' --canonicalize --cse | filecheck %s
// RUN: legato-opt %s --split-input-file --tir-tile-attention='target=llvm{cpu=sapphirerapids matmul-precision=bf16}' --canonicalize --cse | filecheck %s --check-prefix=MATRICES
// RUN: legato-opt %s --split-input-file --tir-tile-attention='target=llvm{cpu=sapphirerapids matmul-precision=bf16x6}' --canonicalize --cse | filecheck %s --check-prefix=PARTS

// 40 queries in tiles of 10 by two vectors of keys; the scores of a tile for all of the 70 keys, in panels of 32 after which -inf stands,
// are one small buffer. Queries, keys and values are read in place. The mask is added, and the result scaled, in registers.
// CHECK-LABEL: func.func private @one_block(
// CHECK-SAME: %[[Q:.*]]: tensor<2x40x16xf32>, %[[K:.*]]: tensor<2x16x70xf32>, %[[V:.*]]: tensor<2x70x16xf32>, %[[M:.*]]: tensor<70xf32>, %[[OUT:.*]]: tensor<2x40x16xf32>
// CHECK-SAME: tir.state = "scheduled"
// CHECK-DAG: %[[KB:.*]] = bufferization.to_buffer %[[K]] read_only
// CHECK-DAG: %[[MB:.*]] = bufferization.to_buffer %[[M]] read_only
// CHECK-DAG: %[[RESULT:.*]] = bufferization.to_buffer %[[OUT]] :
// CHECK: %[[S:.*]] = memref.alloc() {{.*}} : memref<10x128xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c40 step %c10
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args({{.*}}) -> (vector<16xf32>
// CHECK: vector.load %[[KB]]
// CHECK-COUNT-20: vector.fma
// CHECK: %[[MASK:.*]] = vector.load %[[MB]]
// CHECK: arith.addf %{{.*}}, %[[MASK]] : vector<16xf32>
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: vector.maskedload %[[KB]]
// CHECK: vector.maskedload %[[MB]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.reduction <maxnumf>
// CHECK: math.exp %{{.*}} {tir.weighs} : vector<16xf32>
// CHECK: vector.reduction <add>
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[RESULT]]
// CHECK: bufferization.to_tensor %[[RESULT]] restrict writable
// CHECK-NOT: linalg
//
// By matrices: 40 queries in tiles of 32, queries, keys and values copied as bf16; pairs of keys and of values side by side. A tile's products
// with the keys lie where scores will; its exponentials are rounded.
// MATRICES-LABEL: func.func private @one_block(
// MATRICES: %[[Q:.*]] = memref.alloc() {{.*}} : memref<64x32xbf16>
// MATRICES: %[[K:.*]] = memref.alloc() {{.*}} : memref<48x64xbf16>
// MATRICES: %[[V:.*]] = memref.alloc() {{.*}} : memref<48x64xbf16>
// MATRICES: arith.truncf %{{.*}} {tir.flushes} : vector<16xf32> to vector<16xbf16>
// MATRICES: vector.store %{{.*}}, %[[Q]]
// MATRICES: vector.interleave %{{.*}}, %{{.*}} : vector<16xbf16>
// MATRICES: vector.store %{{.*}}, %[[K]]
// MATRICES: vector.store %{{.*}}, %[[V]]
// MATRICES: scf.for %{{.*}} = %c0 to %c40 step %c32
// MATRICES: vector.contract {{.*}} : vector<32x16x2xf32>, vector<16x32x2xf32> into vector<32x32xf32>
// MATRICES: vector.reduction <maxnumf>
// MATRICES: math.exp
// MATRICES: vector.contract {{.*}} : vector<32x16x2xf32>, vector<16x32x2xf32> into vector<32x32xf32>
// MATRICES: bufferization.to_tensor
//
// In parts: three of each number, and the greatest magnitude of queries, keys and values, on which it depends whether rows are computed in
// f32, one by one.
// PARTS-LABEL: func.func private @one_block(
// PARTS: %[[Q:.*]] = memref.alloc() {{.*}} : memref<2x1x3x32x32xbf16>
// PARTS: %[[K:.*]] = memref.alloc() {{.*}} : memref<3x1x3x16x64xbf16>
// PARTS: %[[V:.*]] = memref.alloc() {{.*}} : memref<3x3x16x64xbf16>
// PARTS: vector.store %{{.*}}, %[[Q]]
// PARTS: arith.maxui
// PARTS: vector.store %{{.*}}, %[[K]]
// PARTS: vector.store %{{.*}}, %[[V]]
// PARTS: %[[F32:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// PARTS: scf.if %[[F32]] {
// PARTS: vector.fma
// PARTS: } else {
// PARTS: vector.contract {{.*}} {tir.parts} : vector<3x32x16x2xf32>, vector<3x16x32x2xf32> into vector<32x32xf32>
// PARTS: math.exp
// PARTS-COUNT-2: arith.subf
// PARTS: vector.contract {{.*}} {tir.parts} : vector<3x32x16x2xf32>, vector<3x16x32x2xf32> into vector<32x32xf32>
// PARTS: bufferization.to_tensor
#scores = affine_map<(b, m, n, d) -> (b, m, n)>
#q = affine_map<(b, m, n, d) -> (b, m, d)>
#k = affine_map<(b, m, n, d) -> (b, d, n)>
#all = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>
#key = affine_map<(b, m, n) -> (n)>
func.func private @one_block(%q: tensor<2x40x16xf32>, %k: tensor<2x16x70xf32>, %v: tensor<2x70x16xf32>, %mask: tensor<70xf32>,
                             %out: tensor<2x40x16xf32> {bufferization.writable = true, tir.out}) -> tensor<2x40x16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<2x40x70xf32>
  %er = tensor.empty() : tensor<2x40xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x40x70xf32>) -> tensor<2x40x70xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x40x16xf32>, tensor<2x16x70xf32>) outs(%fs : tensor<2x40x70xf32>) -> tensor<2x40x70xf32>
  %x = linalg.generic {indexing_maps = [#all, #key, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<2x40x70xf32>, tensor<70xf32>) outs(%es : tensor<2x40x70xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x40x70xf32>
  %fm = linalg.fill ins(%low : f32) outs(%er : tensor<2x40xf32>) -> tensor<2x40xf32>
  %top = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<2x40x70xf32>) outs(%fm : tensor<2x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maxnumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<2x40xf32>
  %e = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %top : tensor<2x40x70xf32>, tensor<2x40xf32>) outs(%es : tensor<2x40x70xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x40x70xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<2x40xf32>) -> tensor<2x40xf32>
  %total = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<2x40x70xf32>) outs(%ft : tensor<2x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<2x40xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %total : tensor<2x40x70xf32>, tensor<2x40xf32>) outs(%es : tensor<2x40x70xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<2x40x70xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%out : tensor<2x40x16xf32>) -> tensor<2x40x16xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<2x40x70xf32>, tensor<2x70x16xf32>) outs(%fo : tensor<2x40x16xf32>) -> tensor<2x40x16xf32>
  return %y : tensor<2x40x16xf32>
}

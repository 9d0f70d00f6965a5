// RUN: legato-opt %s --tir-pair-products='target=llvm{cpu=znver4}' --canonicalize --cse | filecheck %s
// RUN: legato-opt %s --tir-pair-products='target=llvm{cpu=sapphirerapids}' | filecheck %s --check-prefix=PLAIN
// RUN: legato-opt %s --tir-pair-products='target=llvm{cpu=x86-64-v4}' | filecheck %s --check-prefix=PLAIN

// Two rows of the 32 columns become pairs, three of them and one with zeros; tiles of ten rows are multiplied with these, the last element
// of a row with a zero beside it. The elementwise op rounds the sums in registers.
// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %[[A:.*]]: tensor<3x20x7xbf16>, %[[B:.*]]: tensor<3x7x32xbf16>
// CHECK-DAG: %[[LEFT:.*]] = bufferization.to_buffer %[[A]] read_only
// CHECK-DAG: %[[RIGHT:.*]] = bufferization.to_buffer %[[B]] read_only
// CHECK: %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<4x64xbf16>
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-2: vector.load %[[RIGHT]]
// CHECK: vector.interleave
// CHECK: vector.store %{{.*}}, %[[PANEL]]
// CHECK: vector.interleave
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-2: vector.load %[[PANEL]]
// CHECK-COUNT-10: vector.load %[[LEFT]]{{.*}} vector<2xbf16>
// CHECK-COUNT-20: "tir.dot2_bf16bf16"
// CHECK-COUNT-10: arith.extui %{{.*}} : i16 to i32
// CHECK-COUNT-20: "tir.dot2_bf16bf16"
// CHECK-COUNT-20: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK-NOT: linalg
// PLAIN-LABEL: func.func private @product(
// PLAIN: linalg.batch_matmul
func.func private @product(%a: tensor<3x20x7xbf16>, %b: tensor<3x7x32xbf16>, %out: tensor<3x20x32xbf16> {tir.out, bufferization.writable = true})
    -> tensor<3x20x32xbf16> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x20x32xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x20x32xf32>) -> tensor<3x20x32xf32>
  %1 = linalg.batch_matmul ins(%a, %b : tensor<3x20x7xbf16>, tensor<3x7x32xbf16>) outs(%0 : tensor<3x20x32xf32>) -> tensor<3x20x32xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<3x20x32xf32>) outs(%out : tensor<3x20x32xbf16>) {
  ^bb0(%x: f32, %o: bf16):
    %y = arith.truncf %x : f32 to bf16
    linalg.yield %y : bf16
  } -> tensor<3x20x32xbf16>
  return %2 : tensor<3x20x32xbf16>
}

// Of few rows, pairs take longer to be made than they save.
// CHECK-LABEL: func.func private @few(
// CHECK: linalg.matmul
func.func private @few(%a: tensor<4x8xbf16>, %b: tensor<8x32xbf16>, %out: tensor<4x32xf32> {tir.out, bufferization.writable = true})
    -> tensor<4x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<4x8xbf16>, tensor<8x32xbf16>) outs(%0 : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %1 : tensor<4x32xf32>
}

// An addend is no zero to begin with.
// CHECK-LABEL: func.func private @accumulated(
// CHECK: linalg.matmul
func.func private @accumulated(%a: tensor<32x8xbf16>, %b: tensor<8x32xbf16>, %sums: tensor<32x32xf32>,
    %out: tensor<32x32xf32> {tir.out, bufferization.writable = true}) -> tensor<32x32xf32> attributes {tir.prim_func} {
  %0 = linalg.copy ins(%sums : tensor<32x32xf32>) outs(%out : tensor<32x32xf32>) -> tensor<32x32xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<32x8xbf16>, tensor<8x32xbf16>) outs(%0 : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
}

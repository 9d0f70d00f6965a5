// RUN: rm -rf %t && mkdir %t && cp %s %t/in.mlir
// RUN: %python -c "import numpy as n, safetensors.numpy as s; s.save_file({'w': n.arange(350, dtype='f4').reshape(5, 70), 'v': n.ones((5, 70), 'f4'), 't': n.arange(350, dtype='f4').reshape(70, 5)}, r'%t/in.mlir.safetensors')"
// RUN: legato-opt %t/in.mlir --tir-pack-weights="target=llvm{cpu=x86-64-v4}" -o %t/out.mlir && filecheck %s < %t/out.mlir
// RUN: legato-opt %t/in.mlir --tir-pack-weights="target=llvm{cpu=x86-64-v3}" | filecheck %s --check-prefix=AVX2
// RUN: %python -c "import numpy as n, safetensors.numpy as s; d = s.load_file(r'%t/out.mlir.safetensors'); w = n.arange(350).reshape(5, 70); print(sorted(d), (d['w.packed'][1, :, 0, :6] == w[:, 64:]).all(), d['w.packed'][1, :, 0, 6:].any())" | filecheck %s --check-prefix=BYTES

// Two calls share a weight, and the packed weight; the old one is dropped. The last block is filled up with zeros.
// CHECK: func.func @main
// CHECK-COUNT-2: weight = "w.packed"{{.*}} -> tensor<2x5x1x64xf32>
// BYTES: ['t.packed', 'v', 'w.packed'] True False
// CHECK: func.func private @k(%{{.*}}: tensor<4x5xf32>, %[[W:.*]]: tensor<2x5x1x64xf32>, %{{.*}}: tensor<4x70xf32>
// CHECK: %[[U:.*]] = linalg.unpack %[[W]] outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [1, 64]
// CHECK: linalg.matmul ins(%{{.*}}, %[[U]] :

// The tile is that of the CPU's registers.
// AVX2: func.func private @k({{.*}}: tensor<5x5x1x16xf32>

// A call with a weight and one with an input: it stays as it is.
// CHECK: func.func private @mixed(%{{.*}}: tensor<4x5xf32>, %{{.*}}: tensor<5x70xf32>

// A weight that is read transposed is packed the other way, and the map follows.
// CHECK: func.func private @transposed(%{{.*}}: tensor<4x5xf32>, %{{.*}}: tensor<2x5x1x64xf32>
// CHECK: linalg.unpack {{.*}} into %{{.*}} : tensor<2x5x1x64xf32> -> tensor<5x70xf32>
// CHECK: linalg.matmul ins(
func.func @main(%x: tensor<4x5xf32> {relax.name = "x"}, %y: tensor<5x70xf32> {relax.name = "y"})
    -> (tensor<4x70xf32>, tensor<4x70xf32>, tensor<4x70xf32>, tensor<4x70xf32>, tensor<4x70xf32>) {
  %w = "relax.constant"() {weight = "w"} : () -> tensor<5x70xf32>
  %again = "relax.constant"() {weight = "w"} : () -> tensor<5x70xf32>
  %v = "relax.constant"() {weight = "v"} : () -> tensor<5x70xf32>
  %t = "relax.constant"() {weight = "t"} : () -> tensor<70x5xf32>
  %e = tensor.empty() : tensor<4x70xf32>
  %0 = func.call @k(%x, %w, %e) : (tensor<4x5xf32>, tensor<5x70xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  %1 = func.call @k(%x, %again, %e) : (tensor<4x5xf32>, tensor<5x70xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  %2 = func.call @mixed(%x, %v, %e) : (tensor<4x5xf32>, tensor<5x70xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  %3 = func.call @mixed(%x, %y, %e) : (tensor<4x5xf32>, tensor<5x70xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  %4 = func.call @transposed(%x, %t, %e) : (tensor<4x5xf32>, tensor<70x5xf32>, tensor<4x70xf32>) -> tensor<4x70xf32>
  return %0, %1, %2, %3, %4 : tensor<4x70xf32>, tensor<4x70xf32>, tensor<4x70xf32>, tensor<4x70xf32>, tensor<4x70xf32>
}

func.func private @k(%x: tensor<4x5xf32>, %w: tensor<5x70xf32>, %out: tensor<4x70xf32> {tir.out, bufferization.writable = true}) -> tensor<4x70xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x70xf32>) -> tensor<4x70xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<4x5xf32>, tensor<5x70xf32>) outs(%0 : tensor<4x70xf32>) -> tensor<4x70xf32>
  return %1 : tensor<4x70xf32>
}

func.func private @mixed(%x: tensor<4x5xf32>, %w: tensor<5x70xf32>, %out: tensor<4x70xf32> {tir.out, bufferization.writable = true}) -> tensor<4x70xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x70xf32>) -> tensor<4x70xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<4x5xf32>, tensor<5x70xf32>) outs(%0 : tensor<4x70xf32>) -> tensor<4x70xf32>
  return %1 : tensor<4x70xf32>
}

func.func private @transposed(%x: tensor<4x5xf32>, %w: tensor<70x5xf32>, %out: tensor<4x70xf32> {tir.out, bufferization.writable = true}) -> tensor<4x70xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<4x70xf32>) -> tensor<4x70xf32>
  %1 = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<4x5xf32>, tensor<70x5xf32>) outs(%0 : tensor<4x70xf32>) -> tensor<4x70xf32>
  return %1 : tensor<4x70xf32>
}

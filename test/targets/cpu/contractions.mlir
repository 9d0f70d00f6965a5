// RUN: legato-opt %s --tir-schedule="target=llvm{cpu=x86-64-v4}" --split-input-file | filecheck %s --check-prefixes=CHECK,AVX512
// RUN: legato-opt %s --tir-schedule="target=llvm{cpu=x86-64-v3}" --split-input-file | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: legato-opt %s --tir-schedule="target=llvm{cpu=x86-64-v4 threads=2}" --split-input-file | filecheck %s --check-prefix=THREADS

// Register tiles: as many accumulators as the CPU has registers for, carried through the loop over the reduction.
// CHECK-LABEL: func.func private @matmul
// CHECK-NOT: linalg.
// CHECK: scf.for {{.*}} step %c{{16|32}}
// AVX512: iter_args({{.*}}) -> (tensor<12x32xf32>, vector<12x32xf32>)
// AVX2: iter_args({{.*}}) -> (tensor<6x16xf32>, vector<6x16xf32>)
// AVX512: vector.contract {{.*}} : vector<12x1xf32>, vector<1x32xf32> into vector<12x32xf32>
// AVX2: vector.contract {{.*}} : vector<6x1xf32>, vector<1x16xf32> into vector<6x16xf32>
// The epilogue works on the accumulators; they are stored once.
// CHECK: arith.maximumf
// CHECK-NEXT: vector.transfer_write
// CHECK-NOT: linalg.
// CHECK: return

// A thread gets half of the columns.
// THREADS-LABEL: func.func private @matmul
// THREADS: scf.forall (%{{.*}}) = (0) to (512) step (64)
func.func private @matmul(%x: tensor<96x256xf32>, %w: tensor<256x512xf32>, %bias: tensor<512xf32>,
    %out: tensor<96x512xf32> {tir.out, bufferization.writable = true}) -> tensor<96x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x512xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<96x512xf32>) -> tensor<96x512xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<96x256xf32>, tensor<256x512xf32>) outs(%0 : tensor<96x512xf32>) -> tensor<96x512xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%1, %bias : tensor<96x512xf32>, tensor<512xf32>) outs(%out : tensor<96x512xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %3 = arith.addf %p, %q : f32
    %4 = arith.maximumf %3, %zero : f32
    linalg.yield %4 : f32
  } -> tensor<96x512xf32>
  return %2 : tensor<96x512xf32>
}

// -----

// Rows that do not stay in the second cache are read less often: fewer at once, beside more columns.
// CHECK-LABEL: func.func private @far_rows
// AVX512: vector.contract {{.*}} : vector<6x1xf32>, vector<1x64xf32> into vector<6x64xf32>
// AVX2: vector.contract {{.*}} : vector<6x1xf32>, vector<1x16xf32> into vector<6x16xf32>
func.func private @far_rows(%x: tensor<1500x256xf32>, %w: tensor<256x512xf32>,
    %out: tensor<1500x512xf32> {tir.out, bufferization.writable = true}) -> tensor<1500x512xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1500x512xf32>) -> tensor<1500x512xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<1500x256xf32>, tensor<256x512xf32>) outs(%0 : tensor<1500x512xf32>) -> tensor<1500x512xf32>
  return %1 : tensor<1500x512xf32>
}

// -----

// A weight that does not stay in the second cache is read once: threads share its columns, though the last ones are in no part.
// THREADS-LABEL: func.func private @far_weight
// THREADS: scf.forall (%{{.*}}) = (0) to (6144) step (3072)
func.func private @far_weight(%x: tensor<64x768xf32>, %w: tensor<768x6161xf32>,
    %out: tensor<64x6161xf32> {tir.out, bufferization.writable = true}) -> tensor<64x6161xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<64x6161xf32>) -> tensor<64x6161xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<64x768xf32>, tensor<768x6161xf32>) outs(%0 : tensor<64x6161xf32>) -> tensor<64x6161xf32>
  return %1 : tensor<64x6161xf32>
}

// -----

// Rests have tiles of their own: 23 rows are 12 and 11, or three times 6 and 5; 40 columns are 32 and 8, or twice 16 and 8.
// CHECK-LABEL: func.func private @rests
// AVX512: into vector<12x32xf32>
// AVX512: into vector<11x32xf32>
// AVX512: into vector<12x8xf32>
// AVX512: into vector<11x8xf32>
// AVX2: into vector<6x16xf32>
// AVX2: into vector<5x16xf32>
// AVX2: into vector<6x8xf32>
// AVX2: into vector<5x8xf32>
// CHECK-NOT: linalg.
// CHECK: return
func.func private @rests(%x: tensor<23x64xf32>, %w: tensor<64x40xf32>, %out: tensor<23x40xf32> {tir.out, bufferization.writable = true})
    -> tensor<23x40xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<23x40xf32>) -> tensor<23x40xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<23x64xf32>, tensor<64x40xf32>) outs(%0 : tensor<23x40xf32>) -> tensor<23x40xf32>
  return %1 : tensor<23x40xf32>
}

// -----

// Rows whose number is known at run time only: whole tiles of static size, then powers of two of the rest.
// CHECK-LABEL: func.func private @dynamic
// AVX512: into vector<6x64xf32>
// AVX512: into vector<2x64xf32>
// AVX512: into vector<64xf32>
// AVX2: into vector<6x16xf32>
// AVX2: into vector<2x16xf32>
// AVX2: into vector<16xf32>
// CHECK-NOT: linalg.
// CHECK: return
func.func private @dynamic(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %out: tensor<?x64xf32> {tir.out, bufferization.writable = true})
    -> tensor<?x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<?x64xf32>) outs(%out : tensor<?x64xf32>) {
  ^bb0(%p: f32, %r: f32):
    %3 = arith.negf %p : f32
    linalg.yield %3 : f32
  } -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// -----

// A convolution: a step of the reduction is one place of the filter and one channel; the packed weight is read a vector at a time.
// CHECK-LABEL: func.func private @convolution
// CHECK: vector.transfer_read %arg1[{{.*}} : tensor<2x3x3x16x1x1x1x32xf32>, vector<32xf32>
// AVX512-COUNT-14: vector.contract {{.*}} : vector<1xf32>, vector<1x32xf32> into vector<32xf32>
// CHECK-NOT: linalg.
// CHECK: return

// THREADS-LABEL: func.func private @convolution
// THREADS: scf.forall (%{{.*}}) = (0) to (28) step (7)
func.func private @convolution(%x: tensor<1x57x57x16xf32>, %w: tensor<2x3x3x16x1x1x1x32xf32>,
    %out: tensor<1x28x28x64xf32> {tir.out, bufferization.writable = true}) -> tensor<1x28x28x64xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x3x16x64xf32>
  %u = linalg.unpack %w outer_dims_perm = [3, 0, 1, 2] inner_dims_pos = [0, 1, 2, 3] inner_tiles = [1, 1, 1, 32] into %e
      : tensor<2x3x3x16x1x1x1x32xf32> -> tensor<3x3x16x64xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %u : tensor<1x57x57x16xf32>, tensor<3x3x16x64xf32>) outs(%0 : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  return %1 : tensor<1x28x28x64xf32>
}

// -----

// A convolution of two groups: one group at a time, without the dimension of groups.
// CHECK-LABEL: func.func private @groups
// CHECK: scf.for {{.*}} = %c0 to %c2 step %c1
// AVX512: vector.contract {{.*}} : vector<14x1xf32>, vector<1x32xf32> into vector<14x32xf32>
// CHECK-NOT: linalg.
// CHECK: return
func.func private @groups(%x: tensor<1x16x16x2x8xf32>, %w: tensor<3x3x8x2x32xf32>,
    %out: tensor<1x14x14x2x32xf32> {tir.out, bufferization.writable = true}) -> tensor<1x14x14x2x32xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x14x14x2x32xf32>) -> tensor<1x14x14x2x32xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(n, h, w, g, f, a, b, c) -> (n, h + a, w + b, g, c)>,
      affine_map<(n, h, w, g, f, a, b, c) -> (a, b, c, g, f)>, affine_map<(n, h, w, g, f, a, b, c) -> (n, h, w, g, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x16x16x2x8xf32>, tensor<3x3x8x2x32xf32>) outs(%0 : tensor<1x14x14x2x32xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %3 = arith.mulf %p, %q : f32
    %4 = arith.addf %r, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x14x14x2x32xf32>
  return %1 : tensor<1x14x14x2x32xf32>
}

// -----

// 256 rows of 768 bytes stay in the second cache, where rows of as many f32 would not: tiles are as high as those of fewer rows.
// AVX512-LABEL: func.func private @bytes
// AVX512: vector.contract {{.*}} : vector<14x1x4xi32>, vector<1x4x32xi32> into vector<14x32xi32>
func.func private @bytes(%x: tensor<256x192x4xi8>, %w: tensor<192x4x768xi8>, %out: tensor<256x768xi32> {tir.out, bufferization.writable = true})
    -> tensor<256x768xi32> attributes {tir.prim_func} {
  %zero = arith.constant 0 : i32
  %0 = linalg.fill ins(%zero : i32) outs(%out : tensor<256x768xi32>) -> tensor<256x768xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(m, n, k, g) -> (m, k, g)>, affine_map<(m, n, k, g) -> (k, g, n)>,
                                        affine_map<(m, n, k, g) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<256x192x4xi8>, tensor<192x4x768xi8>)
      outs(%0 : tensor<256x768xi32>) {
  ^bb0(%a: i8, %b: i8, %s: i32):
    %p = arith.extui %a : i8 to i32
    %q = arith.extsi %b : i8 to i32
    %r = arith.muli %p, %q : i32
    %t = arith.addi %s, %r : i32
    linalg.yield %t : i32
  } -> tensor<256x768xi32>
  return %1 : tensor<256x768xi32>
}

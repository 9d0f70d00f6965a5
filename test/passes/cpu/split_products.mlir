// RUN: legato-opt %s --tir-split-products='target=llvm{cpu=sapphirerapids}' | filecheck %s
// RUN: legato-opt %s --tir-split-products='target=llvm{cpu=sapphirerapids} parts=2' | filecheck %s --check-prefix=TWO
// RUN: legato-opt %s --tir-split-products='target=llvm{cpu=sapphirerapids}' --tir-lower-matrix-products='target=llvm{cpu=sapphirerapids}' | filecheck %s --check-prefix=LOWERED
// RUN: legato-opt %s --tir-split-products='target=llvm{cpu=sapphirerapids} surely=true' | filecheck %s --check-prefix=SURELY
// RUN: legato-opt %s --tir-split-products='target=llvm{cpu=znver4}' | filecheck %s --check-prefix=PLAIN
// RUN: legato-opt %s --tir-split-products='target=llvm{cpu=sapphirerapids threads=2}' | filecheck %s --check-prefix=THREADS

// The weight is packed in parts: two panels of 32 columns, two steps of 32 along the depth, three parts, and pairs.
// CHECK-LABEL: func.func @main(
// CHECK: "relax.constant"{{.*}} -> tensor<2x2x3x16x32x2xbf16>
// TWO: "relax.constant"{{.*}} -> tensor<2x2x2x16x32x2xbf16>
// The rows of a tile are split, with their greatest magnitude, then multiplied: a step sums all products of parts.
// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %{{.*}}: tensor<80x50xf32>, %{{.*}}: tensor<2x2x3x16x32x2xbf16>
// CHECK: memref.alloc() {{.*}} : memref<1x2x3x32x32xbf16>
// CHECK: arith.addi %{{.*}}, %[[HALF:.*]] : vector<16xi32>
// CHECK: arith.addi %{{.*}}, %[[HALF]] : vector<16xi32>
// CHECK: arith.andi
// CHECK: arith.andi
// CHECK: arith.shrui
// CHECK: arith.ori
// CHECK: vector.store {{.*}} : memref<1x2x3x32x32xbf16>, vector<32xbf16>
// CHECK-COUNT-2: arith.subf
// CHECK: vector.store {{.*}} : memref<1x2x3x32x32xbf16>, vector<32xbf16>
// CHECK-COUNT-2: arith.subf
// CHECK: vector.store {{.*}} : memref<1x2x3x32x32xbf16>, vector<32xbf16>
// CHECK: arith.maxui
// CHECK: memref.prefetch
// A row with a number that is no sum of parts is multiplied in f32.
// CHECK: arith.cmpi uge
// CHECK: scf.if
// CHECK-COUNT-8: math.fma
// CHECK-NOT: math.fma
// CHECK: } else {
// CHECK: arith.cmpi slt, %c16
// CHECK: vector.contract {{.*}} : vector<3x32x16x2xf32>, vector<3x16x32x2xf32> into vector<32x32xf32>
// CHECK: } else {
// CHECK: vector.contract {{.*}} : vector<3x16x16x2xf32>, vector<3x16x32x2xf32> into vector<16x32xf32>
// CHECK-NOT: linalg
// Of nine products of parts, six are computed, each by four instructions; three are below the precision of f32.
// The registers' shapes are set once, before all tiles: to set them takes as long as a small product.
// LOWERED-LABEL: func.func private @product(
// LOWERED: "llvm.x86.ldtilecfg"
// LOWERED: scf.for
// LOWERED: scf.if
// LOWERED-NOT: "llvm.x86.ldtilecfg"
// LOWERED-COUNT-24: "llvm.x86.tdpbf16ps"
// LOWERED-NOT: "llvm.x86.tdpbf16ps"
// LOWERED-COUNT-4: "llvm.x86.tilestored64"
// The last tile has 16 rows, for which half as many are enough, on registers of the same shapes.
// LOWERED: } else {
// LOWERED-NOT: "llvm.x86.ldtilecfg"
// LOWERED-COUNT-12: "llvm.x86.tdpbf16ps"
// LOWERED-NOT: "llvm.x86.tdpbf16ps"
// LOWERED-COUNT-2: "llvm.x86.tilestored64"
// LOWERED-NOT: "llvm.x86.tilestored64"
// LOWERED: "llvm.x86.tilerelease"
// PLAIN: linalg.matmul
// So few rows are not surely faster in parts.
// SURELY-NOT: .parts
// SURELY: linalg.matmul
func.func @main(%x: tensor<80x50xf32>) -> tensor<80x40xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<50x40xf32>} : () -> tensor<50x40xf32>
  %1 = tensor.empty() : tensor<80x40xf32>
  %2 = func.call @product(%x, %0, %1) : (tensor<80x50xf32>, tensor<50x40xf32>, tensor<80x40xf32>) -> tensor<80x40xf32>
  // Of few rows a weight is not split: it takes longer to be read so.
  // CHECK-LABEL: func.func private @few(
  // CHECK: linalg.matmul
  %3 = tensor.empty() : tensor<40x40xf32>
  %4 = tensor.extract_slice %x[0, 0] [40, 50] [1, 1] : tensor<80x50xf32> to tensor<40x50xf32>
  %5 = func.call @few(%4, %0, %3) : (tensor<40x50xf32>, tensor<50x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  return %2 : tensor<80x40xf32>
}

func.func private @product(%a: tensor<80x50xf32>, %b: tensor<50x40xf32>, %out: tensor<80x40xf32> {tir.out, bufferization.writable = true})
    -> tensor<80x40xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<80x40xf32>) -> tensor<80x40xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<80x50xf32>, tensor<50x40xf32>) outs(%0 : tensor<80x40xf32>) -> tensor<80x40xf32>
  return %1 : tensor<80x40xf32>
}

func.func private @few(%a: tensor<40x50xf32>, %b: tensor<50x40xf32>, %out: tensor<40x40xf32> {tir.out, bufferization.writable = true})
    -> tensor<40x40xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<40x40xf32>) -> tensor<40x40xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<40x50xf32>, tensor<50x40xf32>) outs(%0 : tensor<40x40xf32>) -> tensor<40x40xf32>
  return %1 : tensor<40x40xf32>
}

// A weight that does not stay in a core's cache is packed in f32. Its first panel is split before it is multiplied, as are all where a tile
// has rows for f32; while one is multiplied, the next one is split into another buffer, some of its rows beside each tile, and the one after
// that is fetched.
// CHECK-LABEL: func.func @from_memory(
// CHECK: "relax.constant"{{.*}} -> tensor<12x16x32x32xf32>
// CHECK-LABEL: func.func private @large(
// CHECK-SAME: %{{.*}}: tensor<128x512xf32>, %{{.*}}: tensor<12x16x32x32xf32>
// CHECK: %[[GREATEST:.*]] = memref.alloc() {{.*}} : memref<4xi32>
// CHECK: memref.alloc() {{.*}} : memref<32x3x16x64xbf16>
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c256 step %c16
// CHECK: memref.prefetch
// CHECK: memref.store %{{.*}}, %[[GREATEST]]
// CHECK: %[[SOME:.*]] = scf.for %{{.*}} = %c0{{.*}} to %c4 step %c1 iter_args({{.*}}) -> (i1)
// CHECK: scf.for %[[PANEL:.*]] = %c0{{.*}} to %c12 step
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[PANEL]], %c1
// CHECK: %[[HERE:.*]] = arith.ori %[[FIRST]], %[[SOME]] : i1
// CHECK: scf.if %[[HERE]] {
// CHECK: vector.load {{.*}} : memref<12x16x32x32xf32>, vector<16xf32>
// CHECK: vector.store {{.*}} : memref<32x3x16x64xbf16>, vector<32xbf16>
// CHECK: scf.if
// CHECK: math.fma
// CHECK-NOT: vector.store {{.*}} : memref<32x3x16x64xbf16>, vector<32xbf16>
// CHECK: } else {
// CHECK: arith.addi %[[PANEL]], %c1{{.*}} : index
// CHECK: memref.prefetch
// CHECK: vector.load {{.*}} : memref<12x16x32x32xf32>, vector<16xf32>
// CHECK: vector.store {{.*}} : memref<32x3x16x64xbf16>, vector<32xbf16>
// CHECK: vector.contract {{.*}} : vector<3x32x16x2xf32>, vector<3x16x32x2xf32> into vector<32x32xf32>
func.func @from_memory(%x: tensor<128x512xf32>) -> tensor<128x384xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<512x384xf32>} : () -> tensor<512x384xf32>
  %1 = tensor.empty() : tensor<128x384xf32>
  %2 = func.call @large(%x, %0, %1) : (tensor<128x512xf32>, tensor<512x384xf32>, tensor<128x384xf32>) -> tensor<128x384xf32>
  return %2 : tensor<128x384xf32>
}
func.func private @large(%x: tensor<128x512xf32>, %w: tensor<512x384xf32>, %out: tensor<128x384xf32> {tir.out, bufferization.writable = true}) -> tensor<128x384xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<128x384xf32>) -> tensor<128x384xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<128x512xf32>, tensor<512x384xf32>) outs(%0 : tensor<128x384xf32>) -> tensor<128x384xf32>
  return %1 : tensor<128x384xf32>
}

// Of a deep product each of two threads multiplies half of the depth, of which only it splits the rows, in a buffer of its own. Each then
// adds the sums of both for some tiles.
// THREADS-LABEL: func.func private @deep(
// THREADS: %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<128x768xf32>
// THREADS: %[[GREATEST:.*]] = memref.alloc() {{.*}} : memref<4xi32>
// THREADS: scf.parallel
// THREADS: memref.alloc() {{.*}} : memref<2x24x3x32x32xbf16>
// THREADS: scf.for %{{.*}} = %{{.*}} to %c2
// THREADS: memref.store %{{.*}}, %[[GREATEST]]
// THREADS: vector.contract
// THREADS: } {tir.threads}
// THREADS: scf.parallel
// THREADS-COUNT-2: memref.load %[[GREATEST]]
// THREADS: scf.if
// THREADS: math.fma
// THREADS: } else {
// THREADS-COUNT-2: vector.load %[[SUMS]]
// THREADS: arith.addf
// THREADS: vector.store %{{.*}}, %[[SUMS]]
// THREADS: } {tir.threads}
func.func @of_depth(%x: tensor<64x3072xf32>) -> tensor<64x768xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<3072x768xf32>} : () -> tensor<3072x768xf32>
  %1 = tensor.empty() : tensor<64x768xf32>
  %2 = func.call @deep(%x, %0, %1) : (tensor<64x3072xf32>, tensor<3072x768xf32>, tensor<64x768xf32>) -> tensor<64x768xf32>
  return %2 : tensor<64x768xf32>
}
func.func private @deep(%x: tensor<64x3072xf32>, %w: tensor<3072x768xf32>, %out: tensor<64x768xf32> {tir.out, bufferization.writable = true})
    -> tensor<64x768xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<64x768xf32>) -> tensor<64x768xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<64x3072xf32>, tensor<3072x768xf32>) outs(%0 : tensor<64x768xf32>) -> tensor<64x768xf32>
  return %1 : tensor<64x768xf32>
}

// What lies in the order of the rows of a convolution, here its result, is written by the number of a row.
// CHECK-LABEL: func.func private @pointwise(
// CHECK: %[[OUT:.*]] = bufferization.to_buffer %arg2 : tensor<1x10x12x48xf32> to memref<1x10x12x48xf32>
// CHECK: %[[ROWS:.*]] = memref.collapse_shape %[[OUT]] {{\[\[}}0, 1, 2], [3]] : memref<1x10x12x48xf32> into memref<120x48xf32>
// CHECK: vector.store %{{.*}}, %[[ROWS]][
func.func @of_image(%x: tensor<1x10x12x64xf32>) -> tensor<1x10x12x48xf32> {
  %0 = "relax.constant"() {value = dense<1.0> : tensor<1x1x64x48xf32>} : () -> tensor<1x1x64x48xf32>
  %1 = tensor.empty() : tensor<1x10x12x48xf32>
  %2 = func.call @pointwise(%x, %0, %1) : (tensor<1x10x12x64xf32>, tensor<1x1x64x48xf32>, tensor<1x10x12x48xf32>) -> tensor<1x10x12x48xf32>
  return %2 : tensor<1x10x12x48xf32>
}
func.func private @pointwise(%x: tensor<1x10x12x64xf32>, %w: tensor<1x1x64x48xf32>, %out: tensor<1x10x12x48xf32> {tir.out, bufferization.writable = true})
    -> tensor<1x10x12x48xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1x10x12x48xf32>) -> tensor<1x10x12x48xf32>
  %1 = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x10x12x64xf32>, tensor<1x1x64x48xf32>) outs(%0 : tensor<1x10x12x48xf32>) -> tensor<1x10x12x48xf32>
  return %1 : tensor<1x10x12x48xf32>
}

// A contraction over as many parts that nobody has marked sums all of its products.
// LOWERED-LABEL: func.func private @unmarked(
// LOWERED: vector.contract
// LOWERED-NOT: llvm.x86
func.func private @unmarked(%x: memref<3x16x16x2xbf16>, %w: memref<3x16x16x2xbf16>, %y: memref<16x16xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %zeros = arith.constant dense<0.0> : vector<16x16xf32>
  %a = vector.transfer_read %x[%c0, %c0, %c0, %c0], %zero {in_bounds = [true, true, true, true]} : memref<3x16x16x2xbf16>, vector<3x16x16x2xbf16>
  %b = vector.transfer_read %w[%c0, %c0, %c0, %c0], %zero {in_bounds = [true, true, true, true]} : memref<3x16x16x2xbf16>, vector<3x16x16x2xbf16>
  %0 = arith.extf %a : vector<3x16x16x2xbf16> to vector<3x16x16x2xf32>
  %1 = arith.extf %b : vector<3x16x16x2xbf16> to vector<3x16x16x2xf32>
  %2 = vector.contract {indexing_maps = [affine_map<(m, n, k, p, s, t) -> (s, m, k, p)>, affine_map<(m, n, k, p, s, t) -> (t, k, n, p)>,
      affine_map<(m, n, k, p, s, t) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]}
      %0, %1, %zeros : vector<3x16x16x2xf32>, vector<3x16x16x2xf32> into vector<16x16xf32>
  vector.transfer_write %2, %y[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  return
}

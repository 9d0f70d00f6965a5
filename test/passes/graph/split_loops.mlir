// RUN: legato-opt %s --relax-split-loops='target=llvm{cpu=x86-64-v4 threads=2}' | filecheck %s
// RUN: legato-opt %s --relax-split-loops='target=llvm{cpu=x86-64-v4}' | filecheck %s --check-prefix=ALONE

// Without threads nothing is split, nor marked.
// ALONE-NOT: tir.side_by_side

// Each half of the rows, of which there are five, is a loop: of slices of what the loop reads, given states, and equal elements.
// CHECK-LABEL: func.func @rows
// CHECK: %[[C0:.*]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<2x128xf32>}
// CHECK: %[[Y0:.*]] = tensor.empty() : tensor<20x2x128xf32>
// CHECK: %[[L0:.*]] = "relax.strided_slice"(%arg2) {axes = array<i64: 0>, begin = #relax.dims<[0]>, end = #relax.dims<[2]>}
// CHECK: %[[C1:.*]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<3x128xf32>}
// CHECK: %[[L1:.*]] = "relax.strided_slice"(%arg2) {axes = array<i64: 0>, begin = #relax.dims<[2]>, end = #relax.dims<[5]>}
// CHECK: %[[A:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}} = %[[C0]], %{{.*}} = %[[Y0]]) -> (tensor<2x128xf32>, tensor<20x2x128xf32>)
// CHECK: tensor.extract_slice %arg0[%{{.*}}, 0, 0] [1, 2, 128] [1, 1, 1]
// CHECK: "relax.matmul"(%{{.*}}, %arg1) : (tensor<2x128xf32>, tensor<128x128xf32>) -> tensor<2x128xf32>
// CHECK: "relax.multiply"(%{{.*}}, %[[L0]])
// CHECK: "relax.reshape"(%{{.*}}) {shape = #relax.dims<[2, 4, 32]>}
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%{{.*}}, 0, 0] [1, 2, 128] [1, 1, 1]
// CHECK: } {tir.side_by_side = 0 : i64}
// CHECK: %[[B:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}} = %[[C1]], %{{.*}}) -> (tensor<3x128xf32>, tensor<20x3x128xf32>)
// CHECK: tensor.extract_slice %arg0[%{{.*}}, 2, 0] [1, 3, 128] [1, 1, 1]
// CHECK: "relax.multiply"(%{{.*}}, %[[L1]])
// CHECK: } {tir.side_by_side = 0 : i64}
// CHECK: tensor.concat dim(0) %[[A]]#0, %[[B]]#0
// CHECK: tensor.concat dim(1) %[[A]]#1, %[[B]]#1
func.func @rows(%x: tensor<20x5x128xf32>, %w: tensor<128x128xf32>, %mask: tensor<5x1xf32>) -> (tensor<5x128xf32>, tensor<20x5x128xf32>) {
  %zero = "relax.constant"() {value = dense<0.0> : tensor<5x128xf32>} : () -> tensor<5x128xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %empty = tensor.empty() : tensor<20x5x128xf32>
  %r:2 = scf.for %i = %c0 to %c20 step %c1 iter_args(%h = %zero, %all = %empty) -> (tensor<5x128xf32>, tensor<20x5x128xf32>) {
    %part = tensor.extract_slice %x[%i, 0, 0] [1, 5, 128] [1, 1, 1] : tensor<20x5x128xf32> to tensor<5x128xf32>
    %0 = "relax.matmul"(%h, %w) : (tensor<5x128xf32>, tensor<128x128xf32>) -> tensor<5x128xf32>
    %1 = "relax.add"(%0, %part) : (tensor<5x128xf32>, tensor<5x128xf32>) -> tensor<5x128xf32>
    %2 = "relax.tanh"(%1) : (tensor<5x128xf32>) -> tensor<5x128xf32>
    %3 = "relax.multiply"(%2, %mask) : (tensor<5x128xf32>, tensor<5x1xf32>) -> tensor<5x128xf32>
    %4 = "relax.reshape"(%3) {shape = #relax.dims<[5, 4, 32]>} : (tensor<5x128xf32>) -> tensor<5x4x32xf32>
    %5 = "relax.sigmoid"(%4) : (tensor<5x4x32xf32>) -> tensor<5x4x32xf32>
    %6 = "relax.reshape"(%5) {shape = #relax.dims<[5, 128]>} : (tensor<5x4x32xf32>) -> tensor<5x128xf32>
    %7 = tensor.insert_slice %6 into %all[%i, 0, 0] [1, 5, 128] [1, 1, 1] : tensor<5x128xf32> into tensor<20x5x128xf32>
    scf.yield %6, %7 : tensor<5x128xf32>, tensor<20x5x128xf32>
  }
  return %r#0, %r#1 : tensor<5x128xf32>, tensor<20x5x128xf32>
}

// Two loops of one row that do not depend on each other: what the second one reads is computed in front of the first.
// CHECK-LABEL: func.func @directions
// CHECK: %[[X:.*]] = "relax.negative"(%arg0)
// CHECK: scf.for
// CHECK: } {tir.side_by_side = 1 : i64}
// CHECK-NEXT: scf.for
// CHECK: "relax.add"(%{{.*}}, %[[X]])
// CHECK: } {tir.side_by_side = 1 : i64}
// CHECK-NEXT: "relax.add"
func.func @directions(%x: tensor<1x128xf32>, %w: tensor<128x128xf32>) -> tensor<1x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %a = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %x) -> (tensor<1x128xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
    scf.yield %0 : tensor<1x128xf32>
  }
  %turned = "relax.negative"(%x) : (tensor<1x128xf32>) -> tensor<1x128xf32>
  %b = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %x) -> (tensor<1x128xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
    %1 = "relax.add"(%0, %turned) : (tensor<1x128xf32>, tensor<1x128xf32>) -> tensor<1x128xf32>
    scf.yield %1 : tensor<1x128xf32>
  }
  %y = "relax.add"(%a, %b) : (tensor<1x128xf32>, tensor<1x128xf32>) -> tensor<1x128xf32>
  return %y : tensor<1x128xf32>
}

// The second loop reads the first one's result.
// CHECK-LABEL: func.func @layers
// CHECK-NOT: tir.side_by_side
func.func @layers(%x: tensor<1x128xf32>, %w: tensor<128x128xf32>) -> tensor<1x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %a = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %x) -> (tensor<1x128xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
    scf.yield %0 : tensor<1x128xf32>
  }
  %turned = "relax.negative"(%a) : (tensor<1x128xf32>) -> tensor<1x128xf32>
  %b = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %turned) -> (tensor<1x128xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
    scf.yield %0 : tensor<1x128xf32>
  }
  return %b : tensor<1x128xf32>
}

// A step adds up the rows, or takes one of them: they depend on each other.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: tir.side_by_side
func.func @mixed(%x: tensor<16x128xf32>, %w: tensor<128x128xf32>) -> (tensor<16x128xf32>, tensor<16x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %a = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %x) -> (tensor<16x128xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<16x128xf32>, tensor<128x128xf32>) -> tensor<16x128xf32>
    %1 = "relax.sum"(%0) {axis = array<i64: 0>, keepdims = true} : (tensor<16x128xf32>) -> tensor<1x128xf32>
    %2 = "relax.subtract"(%0, %1) : (tensor<16x128xf32>, tensor<1x128xf32>) -> tensor<16x128xf32>
    scf.yield %2 : tensor<16x128xf32>
  }
  %b = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %a) -> (tensor<16x128xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<16x128xf32>, tensor<128x128xf32>) -> tensor<16x128xf32>
    %1 = "relax.strided_slice"(%h) {axes = array<i64: 0>, begin = #relax.dims<[3]>, end = #relax.dims<[4]>} : (tensor<16x128xf32>) -> tensor<1x128xf32>
    %2 = "relax.subtract"(%0, %1) : (tensor<16x128xf32>, tensor<1x128xf32>) -> tensor<16x128xf32>
    scf.yield %2 : tensor<16x128xf32>
  }
  return %a, %b : tensor<16x128xf32>, tensor<16x128xf32>
}

// Too little work for threads.
// CHECK-LABEL: func.func @small
// CHECK-NOT: tir.side_by_side
func.func @small(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %a = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %x) -> (tensor<4x8xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    scf.yield %0 : tensor<4x8xf32>
  }
  return %a : tensor<4x8xf32>
}

// Threads share the product of one row by a large weight; each by itself would read it all.
// CHECK-LABEL: func.func @one_row
// CHECK-NOT: tir.side_by_side
func.func @one_row(%x: tensor<2x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<2x1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %a = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %x) -> (tensor<2x1024xf32>) {
    %0 = "relax.matmul"(%h, %w) : (tensor<2x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x1024xf32>
    scf.yield %0 : tensor<2x1024xf32>
  }
  return %a : tensor<2x1024xf32>
}

// Of steps whose number only the call knows: slices are taken of what casts make of named sizes, in front of the loops.
// CHECK-LABEL: func.func @free
// CHECK: %[[X:.*]] = builtin.unrealized_conversion_cast %arg0
// CHECK: tensor.empty(%{{.*}}) : tensor<?x16x64xf32>
// CHECK: tensor.empty(%{{.*}}) : tensor<?x16x64xf32>
// CHECK: %[[A:.*]]:2 = scf.for
// CHECK: tensor.extract_slice %[[X]][%{{.*}}, 0, 0] [1, 16, 64]
// CHECK: %[[B:.*]]:2 = scf.for
// CHECK: tensor.extract_slice %[[X]][%{{.*}}, 16, 0] [1, 16, 64]
// CHECK: %[[NA:.*]] = builtin.unrealized_conversion_cast %[[A]]#1 : tensor<?x16x64xf32> to tensor<?x16x64xf32, #relax.dims<["n", 16, 64]>>
// CHECK: %[[NB:.*]] = builtin.unrealized_conversion_cast %[[B]]#1
// CHECK: %[[Y:.*]] = tensor.concat dim(1) %[[NA]], %[[NB]]
// CHECK: return %[[Y]] : tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>>
func.func @free(%x: tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>>, %w: tensor<64x64xf32>) -> tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>> {
  %zero = "relax.constant"() {value = dense<0.0> : tensor<32x64xf32>} : () -> tensor<32x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>>
  %empty = tensor.empty(%n) : tensor<?x32x64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%h = %zero, %all = %empty) -> (tensor<32x64xf32>, tensor<?x32x64xf32>) {
    %plain = builtin.unrealized_conversion_cast %x : tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>> to tensor<?x32x64xf32>
    %part = tensor.extract_slice %plain[%i, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<?x32x64xf32> to tensor<32x64xf32>
    %0 = "relax.matmul"(%h, %w) : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %1 = "relax.add"(%0, %part) : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %2 = tensor.insert_slice %1 into %all[%i, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<32x64xf32> into tensor<?x32x64xf32>
    scf.yield %1, %2 : tensor<32x64xf32>, tensor<?x32x64xf32>
  }
  %y = builtin.unrealized_conversion_cast %r#1 : tensor<?x32x64xf32> to tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>>
  return %y : tensor<?x32x64xf32, #relax.dims<["n", 32, 64]>>
}

// Of rows whose number only the call knows, a branch takes the parts from so many rows on as pay.
// CHECK-LABEL: func.func @batch
// CHECK: %[[N:.*]] = tensor.dim %arg0
// CHECK: %[[MANY:.*]] = arith.cmpi sge, %[[N]], %{{.*}} : index
// CHECK: %[[IF:.*]] = scf.if %[[MANY]] -> (tensor<?x64xf32>) {
// CHECK: %[[A:.*]] = scf.for {{.*}} -> (tensor<?x64xf32>)
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : tensor<?x64xf32> to tensor<?x64xf32, #relax.dims<["n // 2", 64]>>
// CHECK: } {tir.side_by_side = [[GROUP:.*]] : i64}
// CHECK: %[[B:.*]] = scf.for {{.*}} -> (tensor<?x64xf32>)
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : tensor<?x64xf32> to tensor<?x64xf32, #relax.dims<["n - (n // 2)", 64]>>
// CHECK: } {tir.side_by_side = [[GROUP]] : i64}
// CHECK: %[[WHOLE:.*]] = tensor.concat dim(0)
// CHECK: %[[PLAIN:.*]] = builtin.unrealized_conversion_cast %[[WHOLE]]
// CHECK: scf.yield %[[PLAIN]]
// CHECK: } else {
// CHECK: %[[ALL:.*]] = scf.for {{.*}} -> (tensor<?x64xf32>)
// CHECK-NOT: tir.side_by_side
// CHECK: scf.yield %[[ALL]]
// CHECK: builtin.unrealized_conversion_cast %[[IF]]
func.func @batch(%x: tensor<?x64xf32, #relax.dims<["n", 64]>>, %w: tensor<64x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %begin = builtin.unrealized_conversion_cast %x : tensor<?x64xf32, #relax.dims<["n", 64]>> to tensor<?x64xf32>
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%h = %begin) -> (tensor<?x64xf32>) {
    %named = builtin.unrealized_conversion_cast %h : tensor<?x64xf32> to tensor<?x64xf32, #relax.dims<["n", 64]>>
    %0 = "relax.matmul"(%named, %w) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
    %1 = "relax.tanh"(%0) : (tensor<?x64xf32, #relax.dims<["n", 64]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
    %plain = builtin.unrealized_conversion_cast %1 : tensor<?x64xf32, #relax.dims<["n", 64]>> to tensor<?x64xf32>
    scf.yield %plain : tensor<?x64xf32>
  }
  %y = builtin.unrealized_conversion_cast %r : tensor<?x64xf32> to tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %y : tensor<?x64xf32, #relax.dims<["n", 64]>>
}

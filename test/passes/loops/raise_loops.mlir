// RUN: legato-opt %s --split-input-file --tir-raise-loops | filecheck %s

// A matmul written as loops is a matmul: its init a fill, its axes loops; upstream's name for it.
// CHECK-LABEL: func.func private @matmul(
// CHECK-NOT: tir.state = "written"
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%arg2 : tensor<4x6xf32>)
// CHECK: %[[C:.*]] = linalg.matmul ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%[[ZERO]] : tensor<4x6xf32>)
// CHECK: return %[[C]]
func.func private @matmul(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>, %out: tensor<4x6xf32> {tir.out}) -> tensor<4x6xf32>
    attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<4x8xf32> to memref<4x8xf32>
  %b = bufferization.to_buffer %y : tensor<8x6xf32> to memref<8x6xf32>
  %c = bufferization.to_buffer %out : tensor<4x6xf32> to memref<4x6xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %c2) ({
  ^bb0(%i0: index):
    "tir.for"(%c0, %c2) ({
    ^bb0(%i1: index):
      %0 = arith.muli %i0, %c2 : index
      %i = arith.addi %0, %i1 : index
      "tir.for"(%c0, %c6) ({
      ^bb0(%j: index):
        "tir.for"(%c0, %c8) ({
        ^bb0(%k: index):
          "tir.block"(%i, %j, %k) ({
          ^bb0(%vi: index, %vj: index, %vk: index):
            memref.store %zero, %c[%vi, %vj] : memref<4x6xf32>
            "tir.yield"() : () -> ()
          }, {
          ^bb0(%vi: index, %vj: index, %vk: index):
            %1 = memref.load %c[%vi, %vj] : memref<4x6xf32>
            %2 = memref.load %a[%vi, %vk] : memref<4x8xf32>
            %3 = memref.load %b[%vk, %vj] : memref<8x6xf32>
            %4 = arith.mulf %2, %3 fastmath<contract> : f32
            %5 = arith.addf %1, %4 fastmath<contract> : f32
            memref.store %5, %c[%vi, %vj] : memref<4x6xf32>
            "tir.yield"() : () -> ()
          }) {name = "C", axes = ["vi", "vj", "vk"], kinds = ["spatial", "spatial", "reduce"], extents = array<i64: 4, 6, 8>}
            : (index, index, index) -> ()
          "tir.yield"() : () -> ()
        }) {name = "k"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "i1"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i0"} : (index, index) -> ()
  %y0 = bufferization.to_tensor %c restrict writable : memref<4x6xf32> to tensor<4x6xf32>
  return %y0 : tensor<4x6xf32>
}

// -----

// A loop with a kind has been scheduled by hand: the kernel stays as it is.
// CHECK-LABEL: func.func private @by_hand(
// CHECK-SAME: tir.state = "written"
// CHECK: "tir.for"
func.func private @by_hand(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  %b = bufferization.to_buffer %out : tensor<4xf32> to memref<4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    "tir.block"(%i) ({}, {
    ^bb0(%vi: index):
      %0 = memref.load %a[%vi] : memref<4xf32>
      memref.store %0, %b[%vi] : memref<4xf32>
      "tir.yield"() : () -> ()
    }) {name = "B", axes = ["vi"], kinds = ["spatial"], extents = array<i64: 4>} : (index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "unrolled"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<4xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A kernel that says so keeps its loops, and so does one with a schedule of its own, whose steps name them.
// CHECK-LABEL: func.func private @kept(
// CHECK-SAME: tir.state = "scheduled"
// CHECK: "tir.for"
func.func private @kept(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func, tir.state = "scheduled"} {
  %a = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  %b = bufferization.to_buffer %out : tensor<4xf32> to memref<4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    %0 = memref.load %a[%i] : memref<4xf32>
    memref.store %0, %b[%i] : memref<4xf32>
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<4xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func private @with_a_schedule(
// CHECK: "tir.for"
func.func private @with_a_schedule(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32>
    attributes {tir.prim_func, tir.state = "written", tir.schedule = @steps} {
  %a = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  %b = bufferization.to_buffer %out : tensor<4xf32> to memref<4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    %0 = memref.load %a[%i] : memref<4xf32>
    memref.store %0, %b[%i] : memref<4xf32>
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<4xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

module {
  func.func @main(%arg0: tensor<8x96xf32> {relax.name = "A"}) -> (tensor<8xf32> {relax.name = "B"}) {
    %0 = tensor.empty() : tensor<8xf32>
    %1 = call @row_sum(%arg0, %0) : (tensor<8x96xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @row_sum(%arg0: tensor<8x96xf32>, %arg1: tensor<8xf32> {bufferization.writable = true, tir.out}) -> tensor<8xf32> attributes {tir.state = "written", tir.names = ["A", "B"], tir.prim_func, tir.signature = (tensor<8x96xf32>, tensor<8xf32>) -> tensor<8xf32>} {
    %0 = bufferization.to_buffer %arg0 : tensor<8x96xf32> to memref<8x96xf32>
    %1 = bufferization.to_buffer %arg1 : tensor<8xf32> to memref<8xf32>
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    "tir.for"(%c0, %c8) ({
    ^bb0(%arg2: index):
      %c0_0 = arith.constant 0 : index
      %c96 = arith.constant 96 : index
      "tir.for"(%c0_0, %c96) ({
      ^bb0(%arg3: index):
        "tir.block"(%arg2, %arg3) ({
        ^bb0(%arg4: index, %arg5: index):
          %cst = arith.constant 0.000000e+00 : f32
          memref.store %cst, %1[%arg4] : memref<8xf32>
          "tir.yield"() : () -> ()
        }, {
        ^bb0(%arg4: index, %arg5: index):
          %3 = memref.load %1[%arg4] : memref<8xf32>
          %4 = memref.load %0[%arg4, %arg5] : memref<8x96xf32>
          %5 = arith.addf %3, %4 fastmath<contract> : f32
          memref.store %5, %1[%arg4] : memref<8xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vk"], extents = array<i64: 8, 96>, kinds = ["spatial", "reduce"], name = "B"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "k"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %2 = bufferization.to_tensor %1 restrict writable : memref<8xf32> to tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}


module {
  func.func @main(%arg0: tensor<16x24xf32> {relax.name = "A"}, %arg1: tensor<24x32xf32> {relax.name = "B"}) -> (tensor<16x32xf32> {relax.name = "D"}) {
    %0 = tensor.empty() : tensor<16x32xf32>
    %1 = call @matmul_relu(%arg0, %arg1, %0) : (tensor<16x24xf32>, tensor<24x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }
  func.func private @matmul_relu(%arg0: tensor<16x24xf32>, %arg1: tensor<24x32xf32>, %arg2: tensor<16x32xf32> {bufferization.writable = true, tir.out}) -> tensor<16x32xf32> attributes {tir.state = "written", tir.names = ["A", "B", "D"], tir.prim_func, tir.signature = (tensor<16x24xf32>, tensor<24x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>} {
    %0 = bufferization.to_buffer %arg0 : tensor<16x24xf32> to memref<16x24xf32>
    %1 = bufferization.to_buffer %arg1 : tensor<24x32xf32> to memref<24x32xf32>
    %2 = bufferization.to_buffer %arg2 : tensor<16x32xf32> to memref<16x32xf32>
    %3 = "tir.alloc_buffer"() {name = "C", scope = "global"} : () -> memref<16x32xf32>
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    "tir.for"(%c0, %c16) ({
    ^bb0(%arg3: index):
      %c0_2 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      "tir.for"(%c0_2, %c32) ({
      ^bb0(%arg4: index):
        %c0_3 = arith.constant 0 : index
        %c24 = arith.constant 24 : index
        "tir.for"(%c0_3, %c24) ({
        ^bb0(%arg5: index):
          "tir.block"(%arg3, %arg4, %arg5) ({
          ^bb0(%arg6: index, %arg7: index, %arg8: index):
            %cst = arith.constant 0.000000e+00 : f32
            memref.store %cst, %3[%arg6, %arg7] : memref<16x32xf32>
            "tir.yield"() : () -> ()
          }, {
          ^bb0(%arg6: index, %arg7: index, %arg8: index):
            %5 = memref.load %3[%arg6, %arg7] : memref<16x32xf32>
            %6 = memref.load %0[%arg6, %arg8] : memref<16x24xf32>
            %7 = memref.load %1[%arg8, %arg7] : memref<24x32xf32>
            %8 = arith.mulf %6, %7 fastmath<contract> : f32
            %9 = arith.addf %5, %8 fastmath<contract> : f32
            memref.store %9, %3[%arg6, %arg7] : memref<16x32xf32>
            "tir.yield"() : () -> ()
          }) {axes = ["vi", "vj", "vk"], extents = array<i64: 16, 32, 24>, kinds = ["spatial", "spatial", "reduce"], name = "C"} : (index, index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "k"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %c0_0 = arith.constant 0 : index
    %c16_1 = arith.constant 16 : index
    "tir.for"(%c0_0, %c16_1) ({
    ^bb0(%arg3: index):
      %c0_2 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      "tir.for"(%c0_2, %c32) ({
      ^bb0(%arg4: index):
        "tir.block"(%arg3, %arg4) ({
        }, {
        ^bb0(%arg5: index, %arg6: index):
          %5 = memref.load %3[%arg5, %arg6] : memref<16x32xf32>
          %cst = arith.constant 0.000000e+00 : f32
          %6 = arith.maximumf %5, %cst : f32
          memref.store %6, %2[%arg5, %arg6] : memref<16x32xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vj"], extents = array<i64: 16, 32>, kinds = ["spatial", "spatial"], name = "D"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %4 = bufferization.to_tensor %2 restrict writable : memref<16x32xf32> to tensor<16x32xf32>
    return %4 : tensor<16x32xf32>
  }
}


module {
  func.func @main(%arg0: tensor<30x40xf32> {relax.name = "A"}) -> (tensor<30x40xf32> {relax.name = "D"}) {
    %0 = tensor.empty() : tensor<30x40xf32>
    %1 = call @three_steps(%arg0, %0) : (tensor<30x40xf32>, tensor<30x40xf32>) -> tensor<30x40xf32>
    return %1 : tensor<30x40xf32>
  }
  func.func private @three_steps(%arg0: tensor<30x40xf32>, %arg1: tensor<30x40xf32> {bufferization.writable = true, tir.out}) -> tensor<30x40xf32> attributes {tir.state = "written", tir.names = ["A", "D"], tir.prim_func, tir.signature = (tensor<30x40xf32>, tensor<30x40xf32>) -> tensor<30x40xf32>} {
    %0 = bufferization.to_buffer %arg0 : tensor<30x40xf32> to memref<30x40xf32>
    %1 = bufferization.to_buffer %arg1 : tensor<30x40xf32> to memref<30x40xf32>
    %2 = "tir.alloc_buffer"() {name = "B", scope = "global"} : () -> memref<30x40xf32>
    %3 = "tir.alloc_buffer"() {name = "C", scope = "global"} : () -> memref<30x40xf32>
    %c0 = arith.constant 0 : index
    %c30 = arith.constant 30 : index
    "tir.for"(%c0, %c30) ({
    ^bb0(%arg2: index):
      %c0_4 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      "tir.for"(%c0_4, %c40) ({
      ^bb0(%arg3: index):
        "tir.block"(%arg2, %arg3) ({
        }, {
        ^bb0(%arg4: index, %arg5: index):
          %5 = memref.load %0[%arg4, %arg5] : memref<30x40xf32>
          %cst = arith.constant 2.000000e+00 : f32
          %6 = arith.mulf %5, %cst fastmath<contract> : f32
          memref.store %6, %2[%arg4, %arg5] : memref<30x40xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vj"], extents = array<i64: 30, 40>, kinds = ["spatial", "spatial"], name = "B"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %c0_0 = arith.constant 0 : index
    %c30_1 = arith.constant 30 : index
    "tir.for"(%c0_0, %c30_1) ({
    ^bb0(%arg2: index):
      %c0_4 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      "tir.for"(%c0_4, %c40) ({
      ^bb0(%arg3: index):
        "tir.block"(%arg2, %arg3) ({
        }, {
        ^bb0(%arg4: index, %arg5: index):
          %5 = memref.load %2[%arg4, %arg5] : memref<30x40xf32>
          %cst = arith.constant 1.000000e+00 : f32
          %6 = arith.addf %5, %cst fastmath<contract> : f32
          memref.store %6, %3[%arg4, %arg5] : memref<30x40xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vj"], extents = array<i64: 30, 40>, kinds = ["spatial", "spatial"], name = "C"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %c0_2 = arith.constant 0 : index
    %c30_3 = arith.constant 30 : index
    "tir.for"(%c0_2, %c30_3) ({
    ^bb0(%arg2: index):
      %c0_4 = arith.constant 0 : index
      %c40 = arith.constant 40 : index
      "tir.for"(%c0_4, %c40) ({
      ^bb0(%arg3: index):
        "tir.block"(%arg2, %arg3) ({
        }, {
        ^bb0(%arg4: index, %arg5: index):
          %5 = memref.load %3[%arg4, %arg5] : memref<30x40xf32>
          %6 = memref.load %3[%arg4, %arg5] : memref<30x40xf32>
          %7 = arith.mulf %5, %6 fastmath<contract> : f32
          memref.store %7, %1[%arg4, %arg5] : memref<30x40xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vj"], extents = array<i64: 30, 40>, kinds = ["spatial", "spatial"], name = "D"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %4 = bufferization.to_tensor %1 restrict writable : memref<30x40xf32> to tensor<30x40xf32>
    return %4 : tensor<30x40xf32>
  }
}


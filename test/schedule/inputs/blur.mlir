module {
  func.func @main(%arg0: tensor<34xf32> {relax.name = "A"}) -> (tensor<32xf32> {relax.name = "C"}) {
    %0 = tensor.empty() : tensor<32xf32>
    %1 = call @blur(%arg0, %0) : (tensor<34xf32>, tensor<32xf32>) -> tensor<32xf32>
    return %1 : tensor<32xf32>
  }
  func.func private @blur(%arg0: tensor<34xf32>, %arg1: tensor<32xf32> {bufferization.writable = true, tir.out}) -> tensor<32xf32> attributes {tir.state = "written", tir.names = ["A", "C"], tir.prim_func, tir.signature = (tensor<34xf32>, tensor<32xf32>) -> tensor<32xf32>} {
    %0 = bufferization.to_buffer %arg0 : tensor<34xf32> to memref<34xf32>
    %1 = bufferization.to_buffer %arg1 : tensor<32xf32> to memref<32xf32>
    %2 = "tir.alloc_buffer"() {name = "B", scope = "global"} : () -> memref<34xf32>
    %c0 = arith.constant 0 : index
    %c34 = arith.constant 34 : index
    "tir.for"(%c0, %c34) ({
    ^bb0(%arg2: index):
      "tir.block"(%arg2) ({
      }, {
      ^bb0(%arg3: index):
        %4 = memref.load %0[%arg3] : memref<34xf32>
        %cst = arith.constant 5.000000e-01 : f32
        %5 = arith.mulf %4, %cst fastmath<contract> : f32
        memref.store %5, %2[%arg3] : memref<34xf32>
        "tir.yield"() : () -> ()
      }) {axes = ["vi"], extents = array<i64: 34>, kinds = ["spatial"], name = "B"} : (index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %c0_0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    "tir.for"(%c0_0, %c32) ({
    ^bb0(%arg2: index):
      "tir.block"(%arg2) ({
      }, {
      ^bb0(%arg3: index):
        %4 = memref.load %2[%arg3] : memref<34xf32>
        %c1 = arith.constant 1 : index
        %5 = arith.addi %arg3, %c1 : index
        %6 = memref.load %2[%5] : memref<34xf32>
        %7 = arith.addf %4, %6 fastmath<contract> : f32
        %c2 = arith.constant 2 : index
        %8 = arith.addi %arg3, %c2 : index
        %9 = memref.load %2[%8] : memref<34xf32>
        %10 = arith.addf %7, %9 fastmath<contract> : f32
        memref.store %10, %1[%arg3] : memref<32xf32>
        "tir.yield"() : () -> ()
      }) {axes = ["vi"], extents = array<i64: 32>, kinds = ["spatial"], name = "C"} : (index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %3 = bufferization.to_tensor %1 restrict writable : memref<32xf32> to tensor<32xf32>
    return %3 : tensor<32xf32>
  }
}


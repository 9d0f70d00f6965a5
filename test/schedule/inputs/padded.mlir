module {
  func.func @main(%arg0: tensor<8x8xf32> {relax.name = "X"}) -> (tensor<10x12xf32> {relax.name = "Y"}) {
    %0 = tensor.empty() : tensor<10x12xf32>
    %1 = call @padded(%arg0, %0) : (tensor<8x8xf32>, tensor<10x12xf32>) -> tensor<10x12xf32>
    return %1 : tensor<10x12xf32>
  }
  func.func private @padded(%arg0: tensor<8x8xf32>, %arg1: tensor<10x12xf32> {bufferization.writable = true, tir.out}) -> tensor<10x12xf32> attributes {tir.names = ["X", "Y"], tir.prim_func, tir.signature = (tensor<8x8xf32>, tensor<10x12xf32>) -> tensor<10x12xf32>, tir.state = "written"} {
    %0 = bufferization.to_buffer %arg0 : tensor<8x8xf32> to memref<8x8xf32>
    %1 = bufferization.to_buffer %arg1 : tensor<10x12xf32> to memref<10x12xf32>
    %2 = "tir.alloc_buffer"() {name = "P", scope = "global"} : () -> memref<10x12xf32>
    %c0 = arith.constant 0 : index
    %c10 = arith.constant 10 : index
    "tir.for"(%c0, %c10) ({
    ^bb0(%arg2: index):
      %c0_2 = arith.constant 0 : index
      %c12 = arith.constant 12 : index
      "tir.for"(%c0_2, %c12) ({
      ^bb0(%arg3: index):
        "tir.block"(%arg2, %arg3) ({
        }, {
        ^bb0(%arg4: index, %arg5: index):
          %c1 = arith.constant 1 : index
          %4 = arith.cmpi sge, %arg4, %c1 : index
          %c9 = arith.constant 9 : index
          %5 = arith.cmpi slt, %arg4, %c9 : index
          %6 = arith.andi %4, %5 : i1
          %c2 = arith.constant 2 : index
          %7 = arith.cmpi sge, %arg5, %c2 : index
          %8 = arith.andi %6, %7 : i1
          %c10_3 = arith.constant 10 : index
          %9 = arith.cmpi slt, %arg5, %c10_3 : index
          %10 = arith.andi %8, %9 : i1
          %11 = scf.if %10 -> (f32) {
            %c1_4 = arith.constant 1 : index
            %12 = arith.subi %arg4, %c1_4 : index
            %c2_5 = arith.constant 2 : index
            %13 = arith.subi %arg5, %c2_5 : index
            %14 = memref.load %0[%12, %13] : memref<8x8xf32>
            scf.yield %14 : f32
          } else {
            %cst = arith.constant 0.000000e+00 : f32
            scf.yield %cst : f32
          }
          memref.store %11, %2[%arg4, %arg5] : memref<10x12xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vj"], extents = array<i64: 10, 12>, kinds = ["spatial", "spatial"], name = "P"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %c0_0 = arith.constant 0 : index
    %c10_1 = arith.constant 10 : index
    "tir.for"(%c0_0, %c10_1) ({
    ^bb0(%arg2: index):
      %c0_2 = arith.constant 0 : index
      %c12 = arith.constant 12 : index
      "tir.for"(%c0_2, %c12) ({
      ^bb0(%arg3: index):
        "tir.block"(%arg2, %arg3) ({
        }, {
        ^bb0(%arg4: index, %arg5: index):
          %4 = memref.load %2[%arg4, %arg5] : memref<10x12xf32>
          %cst = arith.constant 2.000000e+00 : f32
          %5 = arith.mulf %4, %cst fastmath<contract> : f32
          memref.store %5, %1[%arg4, %arg5] : memref<10x12xf32>
          "tir.yield"() : () -> ()
        }) {axes = ["vi", "vj"], extents = array<i64: 10, 12>, kinds = ["spatial", "spatial"], name = "Y"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "j"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "i"} : (index, index) -> ()
    %3 = bufferization.to_tensor %1 restrict writable : memref<10x12xf32> to tensor<10x12xf32>
    return %3 : tensor<10x12xf32>
  }
}


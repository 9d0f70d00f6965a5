module {
  func.func @main(%arg0: tensor<2x3x7x5xf32> {relax.name = "Q"}, %arg1: tensor<2x11x5xf32> {relax.name = "K"}, %arg2: tensor<2x11x6xf32> {relax.name = "V"}, %arg3: tensor<7x11xf32> {relax.name = "M"}) -> (tensor<2x7x3x6xf32> {relax.name = "O"}) {
    %0 = tensor.empty() : tensor<2x7x3x6xf32>
    %1 = call @attention(%arg0, %arg1, %arg2, %arg3, %0) : (tensor<2x3x7x5xf32>, tensor<2x11x5xf32>, tensor<2x11x6xf32>, tensor<7x11xf32>, tensor<2x7x3x6xf32>) -> tensor<2x7x3x6xf32>
    return %1 : tensor<2x7x3x6xf32>
  }
  func.func private @attention(%arg0: tensor<2x3x7x5xf32>, %arg1: tensor<2x11x5xf32>, %arg2: tensor<2x11x6xf32>, %arg3: tensor<7x11xf32>, %arg4: tensor<2x7x3x6xf32> {bufferization.writable = true, tir.out}) -> tensor<2x7x3x6xf32> attributes {tir.names = ["Q", "K", "V", "M", "O"], tir.prim_func, tir.signature = (tensor<2x3x7x5xf32>, tensor<2x11x5xf32>, tensor<2x11x6xf32>, tensor<7x11xf32>, tensor<2x7x3x6xf32>) -> tensor<2x7x3x6xf32>, tir.state = "scheduled"} {
    %0 = bufferization.to_buffer %arg0 : tensor<2x3x7x5xf32> to memref<2x3x7x5xf32>
    %1 = bufferization.to_buffer %arg1 : tensor<2x11x5xf32> to memref<2x11x5xf32>
    %2 = bufferization.to_buffer %arg2 : tensor<2x11x6xf32> to memref<2x11x6xf32>
    %3 = bufferization.to_buffer %arg3 : tensor<7x11xf32> to memref<7x11xf32>
    %4 = bufferization.to_buffer %arg4 : tensor<2x7x3x6xf32> to memref<2x7x3x6xf32>
    %5 = "tir.alloc_buffer"() {name = "S", scope = "global"} : () -> memref<2x3x7x11xf32>
    %6 = "tir.alloc_buffer"() {name = "X", scope = "global"} : () -> memref<2x3x7x11xf32>
    %7 = "tir.alloc_buffer"() {name = "G", scope = "global"} : () -> memref<2x3x7xf32>
    %8 = "tir.alloc_buffer"() {name = "E", scope = "global"} : () -> memref<2x3x7x11xf32>
    %9 = "tir.alloc_buffer"() {name = "L", scope = "global"} : () -> memref<2x3x7xf32>
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    "tir.for"(%c0, %c2) ({
    ^bb0(%arg5: index):
      %c0_10 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      "tir.for"(%c0_10, %c3) ({
      ^bb0(%arg6: index):
        %c0_11 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        "tir.for"(%c0_11, %c7) ({
        ^bb0(%arg7: index):
          %c0_12 = arith.constant 0 : index
          %c11 = arith.constant 11 : index
          "tir.for"(%c0_12, %c11) ({
          ^bb0(%arg8: index):
            %c0_13 = arith.constant 0 : index
            %c5 = arith.constant 5 : index
            "tir.for"(%c0_13, %c5) ({
            ^bb0(%arg9: index):
              "tir.block"(%arg5, %arg6, %arg7, %arg8, %arg9) ({
              ^bb0(%arg10: index, %arg11: index, %arg12: index, %arg13: index, %arg14: index):
                %cst = arith.constant 0.000000e+00 : f32
                memref.store %cst, %5[%arg10, %arg11, %arg12, %arg13] : memref<2x3x7x11xf32>
                "tir.yield"() : () -> ()
              }, {
              ^bb0(%arg10: index, %arg11: index, %arg12: index, %arg13: index, %arg14: index):
                %11 = memref.load %5[%arg10, %arg11, %arg12, %arg13] : memref<2x3x7x11xf32>
                %12 = memref.load %0[%arg10, %arg11, %arg12, %arg14] : memref<2x3x7x5xf32>
                %13 = memref.load %1[%arg10, %arg13, %arg14] : memref<2x11x5xf32>
                %14 = arith.mulf %12, %13 fastmath<contract> : f32
                %15 = arith.addf %11, %14 fastmath<contract> : f32
                memref.store %15, %5[%arg10, %arg11, %arg12, %arg13] : memref<2x3x7x11xf32>
                "tir.yield"() : () -> ()
              }) {axes = ["vb", "vh", "vm", "vn", "vd"], extents = array<i64: 2, 3, 7, 11, 5>, kinds = ["spatial", "spatial", "spatial", "spatial", "reduce"], name = "S"} : (index, index, index, index, index) -> ()
              "tir.yield"() : () -> ()
            }) {kind = "serial", name = "d"} : (index, index) -> ()
            "tir.yield"() : () -> ()
          }) {kind = "serial", name = "n"} : (index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "m"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "h"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "b"} : (index, index) -> ()
    %c0_0 = arith.constant 0 : index
    %c2_1 = arith.constant 2 : index
    "tir.for"(%c0_0, %c2_1) ({
    ^bb0(%arg5: index):
      %c0_10 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      "tir.for"(%c0_10, %c3) ({
      ^bb0(%arg6: index):
        %c0_11 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        "tir.for"(%c0_11, %c7) ({
        ^bb0(%arg7: index):
          %c0_12 = arith.constant 0 : index
          %c11 = arith.constant 11 : index
          "tir.for"(%c0_12, %c11) ({
          ^bb0(%arg8: index):
            "tir.block"(%arg5, %arg6, %arg7, %arg8) ({
            }, {
            ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: index):
              %11 = memref.load %5[%arg9, %arg10, %arg11, %arg12] : memref<2x3x7x11xf32>
              %cst = arith.constant 5.000000e-01 : f32
              %12 = arith.mulf %11, %cst fastmath<contract> : f32
              %13 = memref.load %3[%arg11, %arg12] : memref<7x11xf32>
              %14 = arith.addf %12, %13 fastmath<contract> : f32
              memref.store %14, %6[%arg9, %arg10, %arg11, %arg12] : memref<2x3x7x11xf32>
              "tir.yield"() : () -> ()
            }) {axes = ["vb", "vh", "vm", "vn"], extents = array<i64: 2, 3, 7, 11>, kinds = ["spatial", "spatial", "spatial", "spatial"], name = "X"} : (index, index, index, index) -> ()
            "tir.yield"() : () -> ()
          }) {kind = "serial", name = "n"} : (index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "m"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "h"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "b"} : (index, index) -> ()
    %c0_2 = arith.constant 0 : index
    %c2_3 = arith.constant 2 : index
    "tir.for"(%c0_2, %c2_3) ({
    ^bb0(%arg5: index):
      %c0_10 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      "tir.for"(%c0_10, %c3) ({
      ^bb0(%arg6: index):
        %c0_11 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        "tir.for"(%c0_11, %c7) ({
        ^bb0(%arg7: index):
          %c0_12 = arith.constant 0 : index
          %c11 = arith.constant 11 : index
          "tir.for"(%c0_12, %c11) ({
          ^bb0(%arg8: index):
            "tir.block"(%arg5, %arg6, %arg7, %arg8) ({
            ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: index):
              %cst = arith.constant 0xFF800000 : f32
              memref.store %cst, %7[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              "tir.yield"() : () -> ()
            }, {
            ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: index):
              %11 = memref.load %6[%arg9, %arg10, %arg11, %arg12] : memref<2x3x7x11xf32>
              %12 = memref.load %7[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              %13 = arith.maximumf %11, %12 : f32
              memref.store %13, %7[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              "tir.yield"() : () -> ()
            }) {axes = ["vb", "vh", "vm", "vn"], extents = array<i64: 2, 3, 7, 11>, kinds = ["spatial", "spatial", "spatial", "reduce"], name = "G"} : (index, index, index, index) -> ()
            "tir.yield"() : () -> ()
          }) {kind = "serial", name = "n"} : (index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "m"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "h"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "b"} : (index, index) -> ()
    %c0_4 = arith.constant 0 : index
    %c2_5 = arith.constant 2 : index
    "tir.for"(%c0_4, %c2_5) ({
    ^bb0(%arg5: index):
      %c0_10 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      "tir.for"(%c0_10, %c3) ({
      ^bb0(%arg6: index):
        %c0_11 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        "tir.for"(%c0_11, %c7) ({
        ^bb0(%arg7: index):
          %c0_12 = arith.constant 0 : index
          %c11 = arith.constant 11 : index
          "tir.for"(%c0_12, %c11) ({
          ^bb0(%arg8: index):
            "tir.block"(%arg5, %arg6, %arg7, %arg8) ({
            }, {
            ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: index):
              %11 = memref.load %6[%arg9, %arg10, %arg11, %arg12] : memref<2x3x7x11xf32>
              %12 = memref.load %7[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              %13 = arith.subf %11, %12 fastmath<contract> : f32
              %14 = math.exp %13 : f32
              memref.store %14, %8[%arg9, %arg10, %arg11, %arg12] : memref<2x3x7x11xf32>
              "tir.yield"() : () -> ()
            }) {axes = ["vb", "vh", "vm", "vn"], extents = array<i64: 2, 3, 7, 11>, kinds = ["spatial", "spatial", "spatial", "spatial"], name = "E"} : (index, index, index, index) -> ()
            "tir.yield"() : () -> ()
          }) {kind = "serial", name = "n"} : (index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "m"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "h"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "b"} : (index, index) -> ()
    %c0_6 = arith.constant 0 : index
    %c2_7 = arith.constant 2 : index
    "tir.for"(%c0_6, %c2_7) ({
    ^bb0(%arg5: index):
      %c0_10 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      "tir.for"(%c0_10, %c3) ({
      ^bb0(%arg6: index):
        %c0_11 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        "tir.for"(%c0_11, %c7) ({
        ^bb0(%arg7: index):
          %c0_12 = arith.constant 0 : index
          %c11 = arith.constant 11 : index
          "tir.for"(%c0_12, %c11) ({
          ^bb0(%arg8: index):
            "tir.block"(%arg5, %arg6, %arg7, %arg8) ({
            ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: index):
              %cst = arith.constant 0.000000e+00 : f32
              memref.store %cst, %9[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              "tir.yield"() : () -> ()
            }, {
            ^bb0(%arg9: index, %arg10: index, %arg11: index, %arg12: index):
              %11 = memref.load %9[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              %12 = memref.load %8[%arg9, %arg10, %arg11, %arg12] : memref<2x3x7x11xf32>
              %13 = arith.addf %11, %12 fastmath<contract> : f32
              memref.store %13, %9[%arg9, %arg10, %arg11] : memref<2x3x7xf32>
              "tir.yield"() : () -> ()
            }) {axes = ["vb", "vh", "vm", "vn"], extents = array<i64: 2, 3, 7, 11>, kinds = ["spatial", "spatial", "spatial", "reduce"], name = "L"} : (index, index, index, index) -> ()
            "tir.yield"() : () -> ()
          }) {kind = "serial", name = "n"} : (index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "m"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "h"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "b"} : (index, index) -> ()
    %c0_8 = arith.constant 0 : index
    %c2_9 = arith.constant 2 : index
    "tir.for"(%c0_8, %c2_9) ({
    ^bb0(%arg5: index):
      %c0_10 = arith.constant 0 : index
      %c7 = arith.constant 7 : index
      "tir.for"(%c0_10, %c7) ({
      ^bb0(%arg6: index):
        %c0_11 = arith.constant 0 : index
        %c3 = arith.constant 3 : index
        "tir.for"(%c0_11, %c3) ({
        ^bb0(%arg7: index):
          %c0_12 = arith.constant 0 : index
          %c6 = arith.constant 6 : index
          "tir.for"(%c0_12, %c6) ({
          ^bb0(%arg8: index):
            %c0_13 = arith.constant 0 : index
            %c11 = arith.constant 11 : index
            "tir.for"(%c0_13, %c11) ({
            ^bb0(%arg9: index):
              "tir.block"(%arg5, %arg6, %arg7, %arg8, %arg9) ({
              ^bb0(%arg10: index, %arg11: index, %arg12: index, %arg13: index, %arg14: index):
                %cst = arith.constant 0.000000e+00 : f32
                memref.store %cst, %4[%arg10, %arg11, %arg12, %arg13] : memref<2x7x3x6xf32>
                "tir.yield"() : () -> ()
              }, {
              ^bb0(%arg10: index, %arg11: index, %arg12: index, %arg13: index, %arg14: index):
                %11 = memref.load %4[%arg10, %arg11, %arg12, %arg13] : memref<2x7x3x6xf32>
                %12 = memref.load %8[%arg10, %arg12, %arg11, %arg14] : memref<2x3x7x11xf32>
                %13 = memref.load %9[%arg10, %arg12, %arg11] : memref<2x3x7xf32>
                %14 = arith.divf %12, %13 : f32
                %15 = memref.load %2[%arg10, %arg14, %arg13] : memref<2x11x6xf32>
                %16 = arith.mulf %14, %15 fastmath<contract> : f32
                %17 = arith.addf %11, %16 fastmath<contract> : f32
                memref.store %17, %4[%arg10, %arg11, %arg12, %arg13] : memref<2x7x3x6xf32>
                "tir.yield"() : () -> ()
              }) {axes = ["vb", "vm", "vh", "ve", "vn"], extents = array<i64: 2, 7, 3, 6, 11>, kinds = ["spatial", "spatial", "spatial", "spatial", "reduce"], name = "O"} : (index, index, index, index, index) -> ()
              "tir.yield"() : () -> ()
            }) {kind = "serial", name = "n"} : (index, index) -> ()
            "tir.yield"() : () -> ()
          }) {kind = "serial", name = "e"} : (index, index) -> ()
          "tir.yield"() : () -> ()
        }) {kind = "serial", name = "h"} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {kind = "serial", name = "m"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {kind = "serial", name = "b"} : (index, index) -> ()
    %10 = bufferization.to_tensor %4 restrict writable : memref<2x7x3x6xf32> to tensor<2x7x3x6xf32>
    return %10 : tensor<2x7x3x6xf32>
  }
}


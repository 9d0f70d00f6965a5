// RUN: legato-opt %s --split-input-file --tir-lower-loops --verify-diagnostics | filecheck %s

// All steps write one place.
func.func private @one_place(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func, tir.state = "written", tir.names = ["A", "B"]} {
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{the loop i is parallel, and all its steps write the same place of 'B'}}
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    %0 = memref.load %a[%i] : memref<8xf32>
    memref.store %0, %b[%c0] : memref<8xf32>
    "tir.yield"() : () -> ()
  }) {kind = "parallel", name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A step reads what the step before it writes: seen through the axes of the block, which are bound to the loop.
func.func private @later(%x: tensor<8xf32>, %out: tensor<9x4xf32> {tir.out}) -> tensor<9x4xf32> attributes {tir.prim_func, tir.state = "written", tir.names = ["A", "B"]} {
  %b = bufferization.to_buffer %out : tensor<9x4xf32> to memref<9x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{the loop i is parallel, and what a step writes in 'B', the one 1 step later reads: they may happen at once}}
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c4) ({
    ^bb0(%j: index):
      "tir.block"(%i, %j) ({
      }, {
      ^bb0(%vi: index, %vj: index):
        %0 = memref.load %b[%vi, %vj] : memref<9x4xf32>
        %1 = arith.addi %vi, %c1 : index
        memref.store %0, %b[%1, %vj] : memref<9x4xf32>
        "tir.yield"() : () -> ()
      }) {name = "B", axes = ["vi", "vj"], kinds = ["spatial", "spatial"], extents = array<i64: 8, 4>} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "j"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {kind = "parallel", name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<9x4xf32> to tensor<9x4xf32>
  return %y : tensor<9x4xf32>
}

// -----

// Steps that are far enough from each other never meet, and a buffer that is used inside only is one for each step.
// CHECK-LABEL: func.func private @apart(
// CHECK: scf.parallel
func.func private @apart(%x: tensor<16xf32>, %out: tensor<16xf32> {tir.out}) -> tensor<16xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<16xf32> to memref<16xf32>
  %b = bufferization.to_buffer %out : tensor<16xf32> to memref<16xf32>
  %t = "tir.alloc_buffer"() {name = "t", scope = "local"} : () -> memref<1xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    %0 = memref.load %a[%i] : memref<16xf32>
    memref.store %0, %t[%c0] : memref<1xf32>
    %1 = memref.load %t[%c0] : memref<1xf32>
    memref.store %1, %b[%i] : memref<16xf32>
    %2 = arith.addi %i, %c8 : index
    memref.store %1, %b[%2] : memref<16xf32>
    "tir.yield"() : () -> ()
  }) {kind = "parallel", name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<16xf32> to tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// A condition may keep the steps from meeting: that is not seen, and not refused.
// CHECK-LABEL: func.func private @guarded(
// CHECK: scf.parallel
func.func private @guarded(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      %0 = memref.load %a[%c8] : memref<8xf32>
      memref.store %0, %b[%c0] : memref<8xf32>
    }
    "tir.yield"() : () -> ()
  }) {kind = "parallel", name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func private @outside(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out}) -> tensor<8xf32> attributes {tir.prim_func, tir.state = "written", tir.names = ["A", "B"]} {
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    "tir.block"(%i) ({
    }, {
    ^bb0(%vi: index):
      %0 = arith.addi %vi, %c1 : index
      // expected-error @below {{the indices of 'A' on axis 0 go from 1 to 8, and its size there is 8}}
      %1 = memref.load %a[%0] : memref<8xf32>
      memref.store %1, %b[%vi] : memref<8xf32>
      "tir.yield"() : () -> ()
    }) {name = "B", axes = ["vi"], kinds = ["spatial"], extents = array<i64: 8>} : (index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// RUN: legato-opt %s --tir-init-outputs | filecheck %s

// The output of a kernel that may not write all of it is filled first; one that is written wholly is not. In place, the caller's content
// stays, and is not passed where the kernel writes all. A kernel that claims to write all is believed.
// CHECK-LABEL: func.func @main
// CHECK: %[[E:.*]] = tensor.empty() : tensor<8xf32>
// CHECK: %[[Z:.*]] = call @kernel_zeros(%[[E]])
// CHECK: %[[A:.*]] = call @half(%arg0, %[[Z]])
// CHECK: %[[B:.*]] = call @whole(%arg0, %[[E]])
// CHECK: %[[C:.*]] = call @half(%arg0, %arg1)
// CHECK: %[[D0:.*]] = tensor.empty() : tensor<8xf32>
// CHECK: %[[D:.*]] = call @whole(%arg0, %[[D0]])
// CHECK: %[[F:.*]] = call @claims(%arg0, %[[E]])
// CHECK: %[[G0:.*]] = call @kernel_zeros(%[[E]])
// CHECK: %[[G:.*]] = call @conditional(%arg0, %[[G0]])
// CHECK: %[[H:.*]] = call @tiled(%arg0, %[[E]])
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %a = call @half(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = call @whole(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = call @half(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = call @whole(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = call @claims(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %g = call @conditional(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %h = call @tiled(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %a, %b, %c, %d, %f, %g, %h : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

func.func private @half(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32> attributes {tir.prim_func} {
  %s = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %0 = tensor.insert_slice %s into %out[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @whole(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32> attributes {tir.prim_func} {
  %s = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %0 = tensor.insert_slice %s into %out[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %1 = tensor.insert_slice %s into %0[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK: @claims
// CHECK-SAME: attributes {tir.prim_func}
func.func private @claims(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32>
    attributes {tir.prim_func, tir.writes_all} {
  return %out : tensor<8xf32>
}

func.func private @conditional(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32>
    attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    %v = memref.load %a[%i] : memref<8xf32>
    %t = arith.cmpf ogt, %v, %zero : f32
    scf.if %t {
      memref.store %v, %b[%i] : memref<8xf32>
    }
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %r = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %r : tensor<8xf32>
}

// A split loop whose last tile is guarded.
func.func private @tiled(%x: tensor<8xf32>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32>
    attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<8xf32> to memref<8xf32>
  %b = bufferization.to_buffer %out : tensor<8xf32> to memref<8xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  "tir.for"(%c0, %c3) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c3) ({
    ^bb0(%j: index):
      %m = arith.muli %i, %c3 : index
      %p = arith.addi %m, %j : index
      %t = arith.cmpi slt, %p, %c8 : index
      scf.if %t {
        %v = memref.load %a[%p] : memref<8xf32>
        memref.store %v, %b[%p] : memref<8xf32>
      }
      "tir.yield"() : () -> ()
    }) {name = "j"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %r = bufferization.to_tensor %b restrict writable : memref<8xf32> to tensor<8xf32>
  return %r : tensor<8xf32>
}

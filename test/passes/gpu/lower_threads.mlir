// RUN: legato-opt %s --split-input-file --tir-lower-threads=target=nvvm --tir-lower-loops --canonicalize --cse | filecheck %s
// RUN: not legato-opt %s --split-input-file --tir-lower-threads=target=llvm --reproducer=none 2>&1 | filecheck %s --check-prefix=CPU
// CPU: the target 'llvm' has no threads to map to: it is no GPU

// Loops bound to threads are the launch's own indices; the shorter of two loops on one axis leaves the other threads out. The buffer is as
// large as what one block touches of it, and barriers stand where a thread reads what others wrote, and before that is written again.
// CHECK-LABEL: func.func private @shifted(
// CHECK: gpu.launch blocks(%[[BX:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in (%{{[a-z0-9]+}} = %c4, %{{[a-z0-9]+}} = %c1, %{{[a-z0-9]+}} = %c1)
// CHECK-SAME: threads(%[[TX:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in (%{{[a-z0-9]+}} = %c32, %{{[a-z0-9]+}} = %c1, %{{[a-z0-9]+}} = %c1)
// CHECK-SAME: workgroup(%[[S:[a-z0-9]+]] : memref<1x32xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for
// CHECK-NEXT: gpu.barrier
// CHECK: %[[X:.*]] = tensor.extract %arg0[%[[BX]], %[[TX]]]
// CHECK: memref.store %[[X]], %[[S]][%c0, %[[TX]]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[TX]], %c31
// CHECK: gpu.barrier
// CHECK-NEXT: scf.if %[[INSIDE]] {
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[TX]], %c1
// CHECK: memref.load %[[S]][%c0, %[[NEXT]]]
// CHECK-NOT: gpu.barrier
// CHECK: gpu.terminator
// CHECK-NEXT: } {tir.shared = ["s"]}
func.func private @shifted(%x: tensor<4x32xf32>, %out: tensor<4x32xf32> {tir.out}) -> tensor<4x32xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<4x32xf32> to memref<4x32xf32>
  %b = bufferization.to_buffer %out : tensor<4x32xf32> to memref<4x32xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %s = "tir.alloc_buffer"() {name = "s", scope = "shared"} : () -> memref<4x32xf32>
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c3) ({
    ^bb0(%k: index):
      "tir.for"(%c0, %c32) ({
      ^bb0(%j: index):
        %0 = memref.load %a[%i, %j] : memref<4x32xf32>
        memref.store %0, %s[%i, %j] : memref<4x32xf32>
        "tir.yield"() : () -> ()
      }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
      "tir.for"(%c0, %c31) ({
      ^bb0(%j: index):
        %1 = arith.addi %j, %c1 : index
        %2 = memref.load %s[%i, %1] : memref<4x32xf32>
        memref.store %2, %b[%i, %j] : memref<4x32xf32>
        "tir.yield"() : () -> ()
      }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "k"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<4x32xf32> to tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}

// -----

// A grid of dynamic size. What stands outside of the loop over threads happens once; a second nest is a launch of its own.
// CHECK-LABEL: func.func private @dynamic(
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: gpu.launch blocks(%[[BX:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in (%{{[a-z0-9]+}} = %[[N]],
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[BX]], %c0]
// CHECK-NEXT: }
// CHECK: %[[SMALL:.*]] = arith.cmpi slt
// CHECK: scf.if %[[SMALL]] {
// CHECK: memref.store
// CHECK: gpu.launch
// CHECK-NOT: scf.if
// CHECK: return
func.func private @dynamic(%out: tensor<?x8xf32> {tir.out}) -> tensor<?x8xf32> attributes {tir.prim_func, tir.state = "written"} {
  %b = bufferization.to_buffer %out : tensor<?x8xf32> to memref<?x8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %n = memref.dim %b, %c0 : memref<?x8xf32>
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    memref.store %one, %b[%i, %c0] : memref<?x8xf32>
    "tir.for"(%c1, %c6) ({
    ^bb0(%j: index):
      memref.store %two, %b[%i, %j] : memref<?x8xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
    "tir.for"(%c0, %c8) ({
    ^bb0(%j: index):
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    memref.store %two, %b[%i, %c6] : memref<?x8xf32>
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<?x8xf32> to tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A reduction over threads: each adds up its part, the lanes of the two warps exchange theirs, and the first thread writes the result.
// CHECK-LABEL: func.func private @sum(
// CHECK-SAME: %{{.*}}: tensor<128xf32>
// CHECK: workgroup(%[[PARTS:[a-z0-9]+]] : memref<1x2xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for
// CHECK: arith.addf
// CHECK-COUNT-5: gpu.shuffle
// CHECK: scf.if
// CHECK-NEXT: memref.store %{{.*}}, %[[PARTS]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[PARTS]]
// CHECK-COUNT-1: gpu.shuffle
// CHECK-NOT: gpu.shuffle
// CHECK: arith.cmpi eq
// CHECK-NEXT: scf.if
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%c0] : memref<1xf32>
func.func private @sum(%x: tensor<128xf32>, %out: tensor<1xf32> {tir.out}) -> tensor<1xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<128xf32> to memref<128xf32>
  %b = bufferization.to_buffer %out : tensor<1xf32> to memref<1xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %c1) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c2) ({
    ^bb0(%ko: index):
      "tir.for"(%c0, %c64) ({
      ^bb0(%ki: index):
        %0 = arith.muli %ko, %c64 : index
        %k = arith.addi %0, %ki : index
        "tir.block"(%i, %k) ({
        ^bb0(%vi: index, %vk: index):
          memref.store %zero, %b[%vi] : memref<1xf32>
          "tir.yield"() : () -> ()
        }, {
        ^bb0(%vi: index, %vk: index):
          %1 = memref.load %b[%vi] : memref<1xf32>
          %2 = memref.load %a[%vk] : memref<128xf32>
          %3 = arith.addf %1, %2 : f32
          memref.store %3, %b[%vi] : memref<1xf32>
          "tir.yield"() : () -> ()
        }) {name = "sum", axes = ["vi", "vk"], kinds = ["spatial", "reduce"], extents = array<i64: 1, 128>} : (index, index) -> ()
        "tir.yield"() : () -> ()
      }) {name = "ki", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "ko"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<1xf32> to tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// Two nests that write different parts are one launch: of its 7 blocks the last 3 are the second's, of fewer threads. The third reads what
// they write, and starts after them.
// CHECK-LABEL: func.func private @parts(
// CHECK: gpu.launch blocks(%[[B:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in (%{{[a-z0-9]+}} = %c7, %{{[a-z0-9]+}} = %c1, %{{[a-z0-9]+}} = %c1)
// CHECK-SAME: threads(%[[T:[a-z0-9]+]], %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) in (%{{[a-z0-9]+}} = %c32, %{{[a-z0-9]+}} = %c1, %{{[a-z0-9]+}} = %c1)
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[B]], %c4
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK: memref.store %{{.*}}, %[[OUT:.*]][%[[B]], %[[T]]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[OWN:.*]] = arith.subi %[[B]], %c4
// CHECK-NEXT: %[[FEW:.*]] = arith.cmpi slt, %[[T]], %c16
// CHECK-NEXT: scf.if %[[FEW]] {
// CHECK-NEXT: %[[X:.*]] = tensor.extract %{{.*}}[%[[OWN]], %[[T]]]
// CHECK-NEXT: memref.store %[[X]], %[[OUT]][%[[B]], %[[T]]]
// CHECK: gpu.launch
// CHECK-NOT: gpu.launch
func.func private @parts(%x: tensor<4x32xf32>, %out: tensor<8x32xf32> {tir.out}) -> tensor<8x32xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<4x32xf32> to memref<4x32xf32>
  %b = bufferization.to_buffer %out : tensor<8x32xf32> to memref<8x32xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c32) ({
    ^bb0(%j: index):
      %0 = memref.load %a[%i, %j] : memref<4x32xf32>
      memref.store %0, %b[%i, %j] : memref<8x32xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  "tir.for"(%c0, %c3) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c16) ({
    ^bb0(%j: index):
      %0 = memref.load %a[%i, %j] : memref<4x32xf32>
      %1 = arith.addi %i, %c4 : index
      memref.store %0, %b[%1, %j] : memref<8x32xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  "tir.for"(%c0, %c32) ({
  ^bb0(%j: index):
    %0 = memref.load %b[%c3, %j] : memref<8x32xf32>
    memref.store %0, %b[%c7, %j] : memref<8x32xf32>
    "tir.yield"() : () -> ()
  }) {name = "j", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
  %0 = bufferization.to_tensor %b restrict writable : memref<8x32xf32> to tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// Quotients and remainders of a thread's number are put together to the number, behind a remainder of a block's by a size of the call. An
// index in which none goes away is the value that it was.
// CHECK-LABEL: func.func private @digits(
// CHECK: gpu.launch blocks(%[[BX:[a-z0-9]+]],
// CHECK-SAME: threads(%[[TX:[a-z0-9]+]], %[[TY:[a-z0-9]+]],
// CHECK: %[[TURN:.*]] = arith.remui %[[BX]], %
// CHECK: %[[PLACE:.*]] = arith.muli %[[TURN]], %c64
// CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %[[TX]]
// CHECK-NEXT: %[[QUOTIENT:.*]] = arith.divui %[[NUMBER]], %c16
// CHECK: %[[ROW:.*]] = arith.addi %[[PLACE]], %[[QUOTIENT]]
// CHECK-NOT: arith.{{divui|floordivsi}}
// CHECK: %[[COLUMN:.*]] = arith.addi %[[PLACE]], %[[TX]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[ROW]], %[[COLUMN]]]
func.func private @digits(%out: tensor<?x?xf32> {tir.out}) -> tensor<?x?xf32> attributes {tir.prim_func, tir.state = "written"} {
  %b = bufferization.to_buffer %out : tensor<?x?xf32> to memref<?x?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %b, %c0 : memref<?x?xf32>
  %m = memref.dim %b, %c1 : memref<?x?xf32>
  "tir.for"(%c0, %n) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c4) ({
    ^bb0(%y: index):
      "tir.for"(%c0, %c32) ({
      ^bb0(%x: index):
        %turn = arith.remui %i, %m : index
        %place = arith.muli %turn, %c64 : index
        %threads = arith.muli %y, %c32 : index
        %number = arith.addi %threads, %x : index
        %quotient = arith.divui %number, %c16 : index
        %row = arith.addi %place, %quotient : index
        %eighth = arith.divui %x, %c8 : index
        %eighths = arith.muli %eighth, %c8 : index
        %rest = arith.remui %x, %c8 : index
        %digits = arith.addi %eighths, %rest : index
        %column = arith.addi %place, %digits : index
        memref.store %one, %b[%row, %column] : memref<?x?xf32>
        "tir.yield"() : () -> ()
      }) {name = "x", kind = "thread", thread = "threadIdx.x"} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "y", kind = "thread", thread = "threadIdx.y"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "thread", thread = "blockIdx.x"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<?x?xf32> to tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// RUN: legato-opt %s --split-input-file --canonicalize --tir-lower-loops --cse | filecheck %s

// An init runs where all reduce axes are 0; blocks and their axes are gone.
// CHECK-LABEL: func.func private @sum(
// CHECK: bufferization.to_buffer %arg0 read_only
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %c0
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: memref.store %cst, %{{.*}}[%[[I]]]
// CHECK: memref.load %{{.*}}[%[[I]], %{{.*}}] : memref<4x8xf32>
// CHECK-NOT: tir.block
func.func private @sum(%x: tensor<4x8xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<4x8xf32> to memref<4x8xf32>
  %b = bufferization.to_buffer %out : tensor<4xf32> to memref<4xf32>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %c4) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c8) ({
    ^bb0(%k: index):
      "tir.block"(%i, %k) ({
      ^bb0(%vi: index, %vk: index):
        memref.store %zero, %b[%vi] : memref<4xf32>
        "tir.yield"() : () -> ()
      }, {
      ^bb0(%vi: index, %vk: index):
        %0 = memref.load %b[%vi] : memref<4xf32>
        %1 = memref.load %a[%vi, %vk] : memref<4x8xf32>
        %2 = arith.addf %0, %1 : f32
        memref.store %2, %b[%vi] : memref<4xf32>
        "tir.yield"() : () -> ()
      }) {name = "sum", axes = ["vi", "vk"], kinds = ["spatial", "reduce"], extents = array<i64: 4, 8>} : (index, index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "k"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<4xf32> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The kinds of loops; a local buffer is as large as what one step of the parallel loop touches, and lives in it.
// CHECK-LABEL: func.func private @kinds(
// CHECK: scf.parallel (%[[I:.*]]) =
// CHECK: %[[TILE:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1x16xf32>
// CHECK: vector.load %{{.*}}[%[[I]], %c0] : memref<8x16xf32>, vector<16xf32>
// CHECK: vector.store %{{.*}}, %[[TILE]][%c0, %c0] : memref<1x16xf32>, vector<16xf32>
// CHECK: memref.load %[[TILE]][%c0, %c0]
// CHECK: memref.load %[[TILE]][%c0, %c1]
// CHECK-NOT: tir.
// CHECK: return
func.func private @kinds(%x: tensor<8x16xf32>, %out: tensor<8x2xf32> {tir.out}) -> tensor<8x2xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<8x16xf32> to memref<8x16xf32>
  %b = bufferization.to_buffer %out : tensor<8x2xf32> to memref<8x2xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %t = "tir.alloc_buffer"() {name = "tile", scope = "local"} : () -> memref<8x16xf32>
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c16) ({
    ^bb0(%j: index):
      %0 = memref.load %a[%i, %j] : memref<8x16xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %t[%i, %j] : memref<8x16xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "vectorized"} : (index, index) -> ()
    "tir.for"(%c0, %c2) ({
    ^bb0(%j: index):
      %0 = memref.load %t[%i, %j] : memref<8x16xf32>
      memref.store %0, %b[%i, %j] : memref<8x2xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "unrolled"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i", kind = "parallel"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<8x2xf32> to tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// -----

// A condition that is the same in all lanes gives vectors.
// CHECK-LABEL: func.func private @rows_or_zero(
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[I:.*]], %c3
// CHECK: %[[ROW:.*]] = scf.if %[[INSIDE]] -> (vector<16xf32>) {
// CHECK: %[[LOADED:.*]] = vector.load %{{.*}}[%[[I]], %c0] : memref<3x16xf32>, vector<16xf32>
// CHECK: scf.yield %[[LOADED]] : vector<16xf32>
// CHECK: scf.yield %{{.*}} : vector<16xf32>
// CHECK: vector.store %[[ROW]]
func.func private @rows_or_zero(%x: tensor<3x16xf32>, %out: tensor<8x16xf32> {tir.out}) -> tensor<8x16xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<3x16xf32> to memref<3x16xf32>
  %b = bufferization.to_buffer %out : tensor<8x16xf32> to memref<8x16xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  "tir.for"(%c0, %c8) ({
  ^bb0(%i: index):
    "tir.for"(%c0, %c16) ({
    ^bb0(%j: index):
      %inside = arith.cmpi slt, %i, %c3 : index
      %v = scf.if %inside -> f32 {
        %0 = memref.load %a[%i, %j] : memref<3x16xf32>
        scf.yield %0 : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %v, %b[%i, %j] : memref<8x16xf32>
      "tir.yield"() : () -> ()
    }) {name = "j", kind = "vectorized"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "i"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<8x16xf32> to tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A condition of all of a loop's body is its end: a last step that is partial, as splits leave it. Under another one, a loop stays whole.
// CHECK-LABEL: func.func private @partial(
// CHECK: scf.for %[[O:.*]] = %c0
// CHECK: %[[TIMES:.*]] = arith.muli %[[O]], %c-4
// CHECK: %[[REST:.*]] = arith.addi %[[TIMES]], %c10
// CHECK: %[[END:.*]] = arith.minsi %c4, %[[REST]]
// CHECK-NEXT: scf.for %{{.*}} = %c0{{.*}} to %[[END]] step
// CHECK-NOT: scf.if
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c10
// CHECK: %[[AGAIN:.*]] = arith.cmpi sgt, %[[J]], %c4
// CHECK-NEXT: scf.if %[[AGAIN]] {
func.func private @partial(%x: tensor<10xf32>, %out: tensor<10xf32> {tir.out}) -> tensor<10xf32> attributes {tir.prim_func, tir.state = "written"} {
  %a = bufferization.to_buffer %x : tensor<10xf32> to memref<10xf32>
  %b = bufferization.to_buffer %out : tensor<10xf32> to memref<10xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  "tir.for"(%c0, %c3) ({
  ^bb0(%o: index):
    "tir.for"(%c0, %c4) ({
    ^bb0(%n: index):
      %times = arith.muli %o, %c4 : index
      %i = arith.addi %times, %n : index
      %inside = arith.cmpi slt, %i, %c10 : index
      scf.if %inside {
        %0 = memref.load %a[%i] : memref<10xf32>
        memref.store %0, %b[%i] : memref<10xf32>
      }
      "tir.yield"() : () -> ()
    }) {name = "n"} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "o"} : (index, index) -> ()
  "tir.for"(%c0, %c10) ({
  ^bb0(%j: index):
    %again = arith.cmpi sgt, %j, %c4 : index
    scf.if %again {
      %0 = memref.load %a[%j] : memref<10xf32>
      memref.store %0, %b[%j] : memref<10xf32>
    }
    "tir.yield"() : () -> ()
  }) {name = "j"} : (index, index) -> ()
  %y = bufferization.to_tensor %b restrict writable : memref<10xf32> to tensor<10xf32>
  return %y : tensor<10xf32>
}

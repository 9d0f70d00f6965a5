// RUN: legato-opt %s --split-input-file --pass-pipeline='tir-plan-memory,canonicalize,cse' --verify-diagnostics | filecheck %s
// RUN: legato-opt %s --split-input-file --pass-pipeline='tir-plan-memory' --verify-diagnostics | filecheck %s --check-prefix=BUILT

// Three buffers, of which two are in use at the same time: the third lies where the first was. The result lies in an argument.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: memref<4x8xf32> {relax.name = "x"}, %arg1: memref<4x8xf32> {relax.weight = "w"},
// CHECK-SAME: %arg2: memref<4x8xf32> {relax.name = "out0", tir.out}, %arg3: memref<256xi8> {tir.arena}) -> i32 attributes {llvm.bareptr,
// CHECK-SAME: relax.signature = (memref<4x8xf32>, memref<4x8xf32>) -> memref<4x8xf32>
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[SECOND:.*]] = arith.constant 128 : index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[A:.*]] = memref.view %arg3[%[[FIRST]]][] : memref<256xi8> to memref<4x8xf32>
// CHECK: call @k(%arg0, %arg1, %[[A]])
// CHECK: %[[B:.*]] = memref.view %arg3[%[[SECOND]]][] : memref<256xi8> to memref<4x8xf32>
// CHECK: call @k(%[[A]], %arg1, %[[B]])
// CHECK: call @k(%[[B]], %arg1, %[[A]])
// CHECK: call @k(%[[A]], %arg1, %arg2)
// CHECK: return %[[ZERO]] : i32
// CHECK-LABEL: func.func @main_sizes(%arg0: memref<0xindex>, %arg1: memref<3xindex>) attributes {llvm.bareptr}
// CHECK-COUNT-3: memref.store
func.func private @k(%a: memref<4x8xf32>, %b: memref<4x8xf32>, %out: memref<4x8xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<4x8xf32> {relax.name = "x"}, %w: memref<4x8xf32> {relax.weight = "w"}) -> memref<4x8xf32> {
  %0 = memref.alloc() : memref<4x8xf32>
  call @k(%x, %w, %0) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %1 = memref.alloc() : memref<4x8xf32>
  call @k(%0, %w, %1) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  memref.dealloc %0 : memref<4x8xf32>
  %2 = memref.alloc() : memref<4x8xf32>
  call @k(%1, %w, %2) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %3 = memref.alloc() : memref<4x8xf32>
  call @k(%2, %w, %3) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  return %3 : memref<4x8xf32>
}

// -----

// Symbolic sizes: bare pointers, whose shapes main rebuilds from the symbol; an input that is returned is copied.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: memref<f32> {relax.name = "x"}, %arg1: memref<f32> {relax.name = "y", tir.out}, %arg2: memref<f32> {relax.name = "same", tir.out},
// CHECK-SAME: %arg3: memref<i8> {tir.arena}, %arg4: index {relax.symbol = "n"}) -> i32
// CHECK: memref.reinterpret_cast %arg0 to offset: [0], sizes: [%arg4, 16], strides: [16, 1] : memref<f32> to memref<?x16xf32>
// CHECK: %[[BYTES:.*]] = arith.muli %arg4, %c64 : index
// CHECK: %[[ARENA:.*]] = memref.reinterpret_cast %arg3 to offset: [0], sizes: [%[[BYTES]]], strides: [1] : memref<i8> to memref<?xi8>
// CHECK: memref.view %[[ARENA]][%c0]
// CHECK: memref.copy
// CHECK-LABEL: func.func @main_sizes(%arg0: memref<1xindex>, %arg1: memref<5xindex>)
func.func private @k(%a: memref<?x16xf32>, %out: memref<?x16xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<?x16xf32> {relax.name = "x"}) -> (memref<?x16xf32> {relax.name = "y"}, memref<?x16xf32> {relax.name = "same"})
    attributes {relax.signature = (tensor<?x16xf32, #relax.dims<["n", 16]>>)
                               -> (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x16xf32, #relax.dims<["n", 16]>>)} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x16xf32>
  %0 = memref.alloc(%n) : memref<?x16xf32>
  call @k(%x, %0) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  %1 = memref.alloc(%n) : memref<?x16xf32>
  call @k(%0, %1) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  return %1, %x : memref<?x16xf32>, memref<?x16xf32>
}

// -----

// A buffer that a loop carries to its next step lies in one of two arenas in turn. Sizes of a step are known in it: what is carried there is
// a stage of its own, with an arena for its buffers.
// CHECK-LABEL: func.func @main(
// CHECK: scf.for %{{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (memref<?xf32>)
// CHECK: %[[M:.*]] = memref.dim %[[A]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[M]], %c4
// CHECK: call @legato.late_arena(%c0, %{{.*}}) : (index, index) -> memref<i8>
// CHECK: call @legato.late_turn(%c1, %{{.*}}) : (index, index) -> memref<i8>
// CHECK: scf.yield
// CHECK: call @legato.late_result_0
func.func private @legato.named_size(index) -> index attributes {tir.extern}
func.func private @k(%a: memref<?xf32>, %out: memref<?xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<?xf32> {relax.name = "x"}) -> memref<?xf32>
    attributes {relax.signature = (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["r"]>>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> memref<?xf32> {
    %m = memref.dim %a, %c0 : memref<?xf32>
    %s = func.call @legato.named_size(%m) {relax.symbol = "m"} : (index) -> index
    %t = memref.alloc(%m) : memref<?xf32>
    func.call @k(%a, %t) : (memref<?xf32>, memref<?xf32>) -> ()
    %next = arith.addi %m, %c1 : index
    %u = memref.alloc(%next) : memref<?xf32>
    func.call @k(%t, %u) : (memref<?xf32>, memref<?xf32>) -> ()
    scf.yield %u : memref<?xf32>
  }
  %r = memref.dim %0, %c0 : memref<?xf32>
  %q = call @legato.named_size(%r) {relax.symbol = "r"} : (index) -> index
  %1 = memref.alloc(%r) : memref<?xf32>
  call @k(%0, %1) : (memref<?xf32>, memref<?xf32>) -> ()
  return %1 : memref<?xf32>
}

// -----

// What a branch requires is checked there, by its row on main; its buffers take no less than 0 bytes where it is not taken.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: relax.region_requires = {{\[\[}}"n - 4", "needs n >= 4"]]
// CHECK: scf.if
// CHECK: call @legato.late_check_1(%c2, %{{.*}}) : (index, index) -> ()
// CHECK: func.func @main_sizes
// CHECK: arith.maxsi
// CHECK-NOT: legato.require_1
func.func private @legato.require_1(index) attributes {tir.extern}
func.func private @k(%a: memref<?xf32>, %out: memref<?xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<?xf32> {relax.name = "x"}, %c: memref<i1> {relax.name = "c"}) -> memref<?xf32>
    attributes {relax.signature = (tensor<?xf32, #relax.dims<["n"]>>, tensor<i1>) -> tensor<?xf32, #relax.dims<["n"]>>,
                relax.requires = [["n - 1", "needs n >= 1"]]} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant -4 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %y = memref.alloc(%n) : memref<?xf32>
  func.call @k(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
  %bit = memref.load %c[] : memref<i1>
  scf.if %bit {
    %less = arith.addi %n, %c4 : index
    func.call @legato.require_1(%less) {relax.requires = [["n - 4", "needs n >= 4"]]} : (index) -> ()
    %t = memref.alloc(%less) : memref<?xf32>
    func.call @k(%x, %t) : (memref<?xf32>, memref<?xf32>) -> ()
    func.call @k(%t, %y) : (memref<?xf32>, memref<?xf32>) -> ()
  }
  return %y : memref<?xf32>
}

// -----

// What a loop carries has another size in each step: without a name, the size is not known.
func.func private @k(%a: memref<?xf32>, %out: memref<?xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<?xf32>, %y: memref<4xf32>) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> memref<?xf32> {
    %m = memref.dim %a, %c0 : memref<?xf32>
    // expected-error @unknown {{the size of a buffer in main depends on values that are computed at run time}}
    %t = memref.alloc(%m) : memref<?xf32>
    func.call @k(%a, %t) : (memref<?xf32>, memref<?xf32>) -> ()
    scf.yield %t : memref<?xf32>
  }
  return %y : memref<4xf32>
}

// -----

func.func @main(%x: memref<4xf32>, %flag: memref<i1>) -> memref<4xf32> {
  %b = memref.load %flag[] : memref<i1>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x) -> memref<4xf32> {
    %s = scf.if %b -> memref<4xf32> {
      // expected-error @below {{a buffer made in a branch in a loop of main is carried out of the loop's step: copy it behind the branch}}
      %t = memref.alloc() : memref<4xf32>
      memref.copy %a, %t : memref<4xf32> to memref<4xf32>
      scf.yield %t : memref<4xf32>
    } else {
      scf.yield %a : memref<4xf32>
    }
    scf.yield %s : memref<4xf32>
  }
  return %r : memref<4xf32>
}

// -----

// A size that a kernel has counted: after it an arena, and memory for the result.
// CHECK-LABEL: func.func @main(
// CHECK: %[[M:.*]] = arith.index_cast %{{.*}} {relax.symbol = "m"} : i64 to index
// CHECK: %[[ARENA:.*]] = call @legato.late_arena(%{{.*}}, %{{.*}}) : (index, index) -> memref<i8>
// CHECK: call @legato.late_result_0(%{{.*}}, %[[M]]) : (index, index) -> memref<f32>
// CHECK: call @fill
// CHECK-LABEL: func.func @main_sizes(%arg0: memref<0xindex>, %arg1: memref<1xindex>)
func.func private @count(%a: memref<8xf32>, %out: memref<1xi64> {tir.out}) attributes {tir.prim_func} { return }
func.func private @fill(%a: memref<8xf32>, %out: memref<?xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func private @k(%a: memref<?xf32>, %out: memref<?xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<8xf32> {relax.name = "x"}) -> memref<?xf32>
    attributes {relax.signature = (tensor<8xf32>) -> tensor<?xf32, #relax.dims<["m"]>>} {
  %c0 = arith.constant 0 : index
  %n = memref.alloc() : memref<1xi64>
  call @count(%x, %n) : (memref<8xf32>, memref<1xi64>) -> ()
  %v = memref.load %n[%c0] : memref<1xi64>
  %m = arith.index_cast %v {relax.symbol = "m"} : i64 to index
  %0 = memref.alloc(%m) : memref<?xf32>
  call @fill(%x, %0) : (memref<8xf32>, memref<?xf32>) -> ()
  %1 = memref.alloc(%m) : memref<?xf32>
  call @k(%0, %1) : (memref<?xf32>, memref<?xf32>) -> ()
  return %1 : memref<?xf32>
}

// -----

// Offsets that have a term in common: its parts are built once, before any subexpressions are eliminated.
// BUILT-LABEL: func.func @main(%arg0: memref<f32> {relax.name = "x_once"}
// BUILT-COUNT-1: arith.floordivsi
// BUILT-NOT: arith.floordivsi
// BUILT: return
func.func private @k3(%a: memref<?xf32>, %out: memref<?xf32> {tir.out}) attributes {tir.prim_func} { return }
func.func @main(%x: memref<?xf32> {relax.name = "x_once"}) -> memref<?xf32>
    attributes {relax.signature = (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>>} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %0 = memref.alloc(%n) : memref<?xf32>
  call @k3(%x, %0) : (memref<?xf32>, memref<?xf32>) -> ()
  %1 = memref.alloc(%n) : memref<?xf32>
  call @k3(%0, %1) : (memref<?xf32>, memref<?xf32>) -> ()
  %2 = memref.alloc(%n) : memref<?xf32>
  call @k3(%1, %2) : (memref<?xf32>, memref<?xf32>) -> ()
  %3 = memref.alloc(%n) : memref<?xf32>
  call @k3(%2, %3) : (memref<?xf32>, memref<?xf32>) -> ()
  return %3 : memref<?xf32>
}

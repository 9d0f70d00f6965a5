// RUN: legato-opt %s --split-input-file --verify-diagnostics

// Each verifier says what it saw.
func.func @kind(%a: index) {
  // expected-error @below {{knows the kinds serial, parallel, vectorized, unrolled, thread, not 'fast'}}
  "tir.for"(%a, %a) ({
  ^bb0(%i: index):
    "tir.yield"() : () -> ()
  }) {kind = "fast"} : (index, index) -> ()
  return
}

// -----

func.func @thread(%a: index) {
  // expected-error @below {{names a thread axis if, and only if, its kind is 'thread'}}
  "tir.for"(%a, %a) ({
  ^bb0(%i: index):
    "tir.yield"() : () -> ()
  }) {kind = "thread"} : (index, index) -> ()
  return
}

// -----

func.func @thread_name(%a: index) {
  // expected-error @below {{knows the thread axes blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, not 'warp'}}
  "tir.for"(%a, %a) ({
  ^bb0(%i: index):
    "tir.yield"() : () -> ()
  }) {kind = "thread", thread = "warp"} : (index, index) -> ()
  return
}

// -----

func.func @body(%a: index) {
  // expected-error @below {{its body must be one block with 1 arguments of type index}}
  "tir.for"(%a, %a) ({
  ^bb0(%i: i32):
    "tir.yield"() : () -> ()
  }) : (index, index) -> ()
  return
}

// -----

func.func @attribute(%a: index) {
  // expected-error @below {{has no attribute 'step'; it has: kind, name, thread, annotations}}
  "tir.for"(%a, %a) ({
  ^bb0(%i: index):
    "tir.yield"() : () -> ()
  }) {step = 2} : (index, index) -> ()
  return
}

// -----

func.func @two_axes_one_loop(%a: index) {
  "tir.for"(%a, %a) ({
  ^bb0(%i: index):
    // expected-error @below {{'B' binds the axes vi and vj both to the loop n}}
    "tir.block"(%i, %i) ({}, {
    ^bb0(%vi: index, %vj: index):
      "tir.yield"() : () -> ()
    }) {name = "B", axes = ["vi", "vj"], kinds = ["spatial", "spatial"], extents = array<i64: 4, 4>} : (index, index) -> ()
    "tir.yield"() : () -> ()
  }) {name = "n"} : (index, index) -> ()
  return
}

// -----

func.func @one_name(%a: index) {
  // expected-error @below {{'B' has two axes of one name: vi, vi}}
  "tir.block"(%a, %a) ({}, {
  ^bb0(%vi: index, %vj: index):
    "tir.yield"() : () -> ()
  }) {name = "B", axes = ["vi", "vi"], kinds = ["spatial", "spatial"], extents = array<i64: 4, 4>} : (index, index) -> ()
  return
}

// -----

func.func @count(%a: index) {
  // expected-error @below {{'B' has 1 axes for 2 values}}
  "tir.block"(%a, %a) ({}, {
  ^bb0(%vi: index, %vj: index):
    "tir.yield"() : () -> ()
  }) {name = "B", axes = ["vi"], kinds = ["spatial", "spatial"], extents = array<i64: 4, 4>} : (index, index) -> ()
  return
}

// -----

func.func @axis_kind(%a: index) {
  // expected-error @below {{'B': the axis vi is spatial, reduce, opaque, not 'parallel'}}
  "tir.block"(%a) ({}, {
  ^bb0(%vi: index):
    "tir.yield"() : () -> ()
  }) {name = "B", axes = ["vi"], kinds = ["parallel"], extents = array<i64: 4>} : (index) -> ()
  return
}

// -----

func.func @init(%a: index) {
  // expected-error @below {{'B' has an init, but no reduce axis}}
  "tir.block"(%a) ({
  ^bb0(%vi: index):
    "tir.yield"() : () -> ()
  }, {
  ^bb0(%vi: index):
    "tir.yield"() : () -> ()
  }) {name = "B", axes = ["vi"], kinds = ["spatial"], extents = array<i64: 4>} : (index) -> ()
  return
}

// -----

func.func @buffer() {
  // expected-error @below {{needs 1 sizes, has 0}}
  %b = "tir.alloc_buffer"() {name = "b"} : () -> memref<?x4xf32>
  return
}

// -----

func.func @main() {
  // expected-error @below {{'a b' names no memory: a scope is 'global', 'shared', 'local' or a device's own}}
  %0 = "tir.alloc_buffer"() {name = "b", scope = "a b"} : () -> memref<4xf32>
  return
}

// RUN: legato-opt %s --split-input-file --tir-apply-schedules | filecheck %s

// A schedule is a transform script; the kernel that names it gets it, and the script is gone.
// CHECK-NOT: transform
// CHECK-LABEL: func.func private @double(
// CHECK-NOT: tir.schedule
// CHECK: "tir.for"
// CHECK-NEXT: ^bb0(%[[I:.*]]: index):
// CHECK: "tir.for"
// CHECK-NEXT: ^bb0(%[[J:.*]]: index):
// CHECK: %[[BASE:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.addi %[[BASE]], %[[J]] : index
// CHECK: "tir.block"(%[[AT]])
// CHECK: kind = "vectorized", name = "i_1"
// CHECK: kind = "parallel", name = "i_0"
module attributes {transform.with_named_sequence} {
  transform.named_sequence @fast(%kernel: !transform.any_op {transform.readonly}) {
    %0 = "tir.sch_get_block"(%kernel) {name = "B"} : (!transform.any_op) -> !transform.any_op
    %1 = "tir.sch_get_loops"(%0) : (!transform.any_op) -> !transform.any_op
    %2:2 = "tir.sch_split"(%1) {factors = array<i64: -1, 16>} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    "tir.sch_parallel"(%2#0) : (!transform.any_op) -> ()
    "tir.sch_vectorize"(%2#1) : (!transform.any_op) -> ()
    transform.yield
  }
  func.func private @double(%x: tensor<64xf32>, %out: tensor<64xf32> {tir.out}) -> tensor<64xf32>
      attributes {tir.prim_func, tir.state = "written", tir.schedule = @fast} {
    %a = bufferization.to_buffer %x : tensor<64xf32> to memref<64xf32>
    %b = bufferization.to_buffer %out : tensor<64xf32> to memref<64xf32>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    "tir.for"(%c0, %c64) ({
    ^bb0(%i: index):
      "tir.block"(%i) ({}, {
      ^bb0(%vi: index):
        %0 = memref.load %a[%vi] : memref<64xf32>
        %1 = arith.addf %0, %0 : f32
        memref.store %1, %b[%vi] : memref<64xf32>
        "tir.yield"() : () -> ()
      }) {name = "B", axes = ["vi"], kinds = ["spatial"], extents = array<i64: 64>} : (index) -> ()
      "tir.yield"() : () -> ()
    }) {name = "i"} : (index, index) -> ()
    %y = bufferization.to_tensor %b restrict writable : memref<64xf32> to tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

// -----

// A structured kernel with a schedule for loops gets loops first; a kernel of loops with a schedule of upstream's ops is raised first.
// CHECK-LABEL: func.func private @structured(
// CHECK-NOT: linalg
// CHECK: "tir.block"
// CHECK: kind = "parallel"
// CHECK-LABEL: func.func private @loops(
// CHECK-NOT: tir.for
// CHECK: scf.for
// CHECK: linalg.generic {{.*}}tensor<16xf32>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @loops_in_parallel(%kernel: !transform.any_op {transform.readonly}) {
    %0 = "tir.sch_get_block"(%kernel) {name = "map"} : (!transform.any_op) -> !transform.any_op
    %1 = "tir.sch_get_loops"(%0) : (!transform.any_op) -> !transform.any_op
    "tir.sch_parallel"(%1) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @tiled(%kernel: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.generic"]} in %kernel : (!transform.any_op) -> !transform.any_op
    %1, %2 = transform.structured.tile_using_for %0 tile_sizes [16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func private @structured(%x: tensor<64xf32>, %out: tensor<64xf32> {tir.out}) -> tensor<64xf32>
      attributes {tir.prim_func, tir.schedule = @loops_in_parallel} {
    %0 = linalg.exp ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
  func.func private @loops(%x: tensor<64xf32>, %out: tensor<64xf32> {tir.out}) -> tensor<64xf32>
      attributes {tir.prim_func, tir.state = "written", tir.schedule = @tiled} {
    %a = bufferization.to_buffer %x : tensor<64xf32> to memref<64xf32>
    %b = bufferization.to_buffer %out : tensor<64xf32> to memref<64xf32>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    "tir.for"(%c0, %c64) ({
    ^bb0(%i: index):
      %0 = memref.load %a[%i] : memref<64xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %b[%i] : memref<64xf32>
      "tir.yield"() : () -> ()
    }) {name = "i"} : (index, index) -> ()
    %y = bufferization.to_tensor %b restrict writable : memref<64xf32> to tensor<64xf32>
    return %y : tensor<64xf32>
  }
}

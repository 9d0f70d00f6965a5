// Steps and upstream's transform ops stand in one script, which upstream's interpreter runs.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      for i_0, j_0 in T.grid(15, 5):
// CHECK-NEXT:     for i_1 in T.unroll(2):
// CHECK-NEXT:         for j_1 in T.vectorized(8):
// CHECK-NEXT:             with T.block("C"):
// CHECK:                      C[vi, vj] = A[vi, vj] * 2.0 + 1.0
// CHECK:      for i_0, j_0 in T.grid(15, 5):
// CHECK-NEXT:     for i_1 in T.unroll(2):
// CHECK-NEXT:         for j_1 in T.vectorized(8):
// CHECK-NEXT:             with T.block("D"):

// One that fails says so at its line; what alternatives tried is told too.
// RUN: not %{on:three_steps}=entry-point=none_can 2>&1 | filecheck %s --check-prefix=NONE
// NONE: upstream_ops.mlir:55:5: error: transform-interpreter failed: all alternatives failed
// NONE: upstream_ops.mlir:57:12: note: there is no block 'E' in @three_steps, whose blocks are: B, C, D; in the step: {{.*}}"tir.sch_get_block"
// NONE: upstream_ops.mlir:64:7: note: parallel: takes a loop, this is block 'B'; in the step: "tir.sch_parallel"
!op = !transform.any_op
!int = !transform.param<i64>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !op {transform.readonly}) {
    %kernel = transform.structured.match ops{["func.func"]} attributes {tir.prim_func} in %module : (!op) -> !op
    // what cannot be done is left out, what was done before it stays
    transform.sequence %kernel : !op failures(suppress) {
    ^bb0(%again: !op):
      %b = "tir.sch_get_block"(%again) {name = "B"} : (!op) -> !op
      "tir.sch_compute_inline"(%b) : (!op) -> ()
      %d = "tir.sch_get_block"(%again) {name = "D"} : (!op) -> !op
      "tir.sch_compute_inline"(%d) : (!op) -> ()
    }
    %blocks = transform.structured.match ops{["tir.block"]} in %kernel : (!op) -> !op
    transform.foreach %blocks : !op {
    ^bb0(%block: !op):
      transform.include @tile failures(propagate) (%block) : (!op) -> ()
    }
    transform.apply_cse to %kernel : !op
    transform.yield
  }
  transform.named_sequence @tile(%block: !op {transform.readonly}) {
    %rows = transform.param.constant 2 : i64 -> !int
    %columns = transform.tune.knob<"columns"> = 8 : i64 from options = [8 : i64, 16 : i64] -> !int
    %j = transform.get_parent_op %block {op_name = "tir.for"} : (!op) -> !op
    %i = transform.get_parent_op %block {op_name = "tir.for", nth_parent = 2} : (!op) -> !op
    %is:2 = "tir.sch_split"(%i, %rows) {factors = array<i64: -1, 0>} : (!op, !int) -> (!op, !op)
    %js = "tir.sch_split"(%j, %columns) {factors = array<i64: -1, 0>} : (!op, !int) -> !op
    %j0, %j1 = transform.split_handle %js : (!op) -> (!op, !op)
    %outer = transform.merge_handles %is#0, %j0 : !op
    "tir.sch_reorder"(%outer, %is#1, %j1) : (!op, !op, !op) -> ()
    "tir.sch_unroll"(%is#1) : (!op) -> ()
    "tir.sch_vectorize"(%j1) : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @none_can(%module: !op {transform.readonly}) {
    %kernel = transform.structured.match ops{["func.func"]} attributes {tir.prim_func} in %module : (!op) -> !op
    transform.alternatives %kernel : !op {
    ^bb0(%one: !op):
      %e = "tir.sch_get_block"(%one) {name = "E"} : (!op) -> !op
    }, {
    ^bb0(%two: !op):
      %b = "tir.sch_get_block"(%two) {name = "B"} : (!op) -> !op
      %c = "tir.sch_get_block"(%two) {name = "C"} : (!op) -> !op
      %loops:2 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op)
      "tir.sch_compute_at"(%b, %loops#0) : (!op, !op) -> ()
      "tir.sch_parallel"(%b) : (!op) -> ()
    }
    transform.yield
  }
}

// tile_attention: an attention in tiles of rows and keys. Heads that share keys are rows; keys beyond the last one are -inf.
// RUN: %{on:attention} | filecheck %s
// CHECK:      O_queries = T.alloc_buffer((8, 5), "float32", scope="shared")
// CHECK-NEXT: O_keys = T.alloc_buffer((5, 4), "float32", scope="shared")
// CHECK:      for b, i in T.grid(2, 3):
// CHECK:          O_queries[vm, vd] = T.if_then_else(vi * 8 + vm < 21, Q[vb, v, v_1, vd], 0.0)
// CHECK:          for l in range(3):
// CHECK:              O_keys[vd, vn] = T.if_then_else(vl * 4 + vn < 11, K[vb, vl * 4 + vn, vd], 0.0)
// CHECK:              O_scores[vm, vn] = O_scores[vm, vn] + O_queries[vm, vd] * O_keys[vd, vn]
// CHECK:              O_masked[vm, vn] = T.if_then_else(vi * 8 + vm < 21 and vl * 4 + vn < 11, v * 0.5 + M[v_1, vl * 4 + vn], T.float32("-inf"))
// CHECK:              with T.block("O_rescale"):
// CHECK-NEXT:             vb, vi, vl, vm = T.axis.remap("SSRS", [b, i, l, m])
// CHECK:              O_out[vm, ve] = O_out[vm, ve] + O_weights[vm, vn] * O_values[vn, ve]
// CHECK:          O[vb, v_1, v, ve] = O_out[vm, ve] / O_sums[vm]

// The product of queries and keys is not the one with values.
// RUN: not %{on:attention}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: tile_attention: block 'S' is not the last product of an attention
// For matrix instructions weights are a thread's own, the tile of keys lies as the keys do, and scores are computed without branches.
// RUN: %{on:attention}=entry-point=unconverted | filecheck %s --check-prefix=OWN
// OWN:      O_keys = T.alloc_buffer((4, 5), "float32", scope="shared")
// OWN:      O_weights = T.alloc_buffer((8, 4), "float32", scope="local")
// OWN:      O_keys[vn, vd] = T.if_then_else(vl * 4 + vn < 11, K[vb, vl * 4 + vn, vd], 0.0)
// OWN:      O_scores[vm, vn] = O_scores[vm, vn] + O_queries[vm, vd] * O_keys[vn, vd]
// OWN:      T.Select(vl * 4 + vn < 11, {{.*}}, T.float32("-inf"))
// OWN:      O[vb, v_1, v, ve] = O_out[vm, ve] * (1.0 / O_sums[vm])
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %o = "tir.sch_get_block"(%kernel) {name = "O"} : (!op) -> !op
    %blocks:16 = "tir.sch_tile_attention"(%o) {tiles = array<i64: 8, 4, 5, 6>} : (!op) -> (!op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op)
    transform.yield
  }
  transform.named_sequence @unconverted(%kernel: !op {transform.readonly}) {
    %o = "tir.sch_get_block"(%kernel) {name = "O"} : (!op) -> !op
    %blocks:16 = "tir.sch_tile_attention"(%o) {tiles = array<i64: 8, 4, 5, 6>, unconverted = true} : (!op) -> (!op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op)
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %s = "tir.sch_get_block"(%kernel) {name = "S"} : (!op) -> !op
    %blocks:16 = "tir.sch_tile_attention"(%s) {tiles = array<i64: 8, 4, 5, 6>} : (!op) -> (!op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op, !op)
    transform.yield
  }
}

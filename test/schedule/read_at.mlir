// read_at: the block reads a copy of what it reads in one step of the loop, which is made in that step.
// RUN: %{on:matmul_relu} | filecheck %s
// CHECK:      for i in range(16):
// CHECK-NEXT:     for ax1 in range(24):
// CHECK-NEXT:         with T.block("A_local"):
// CHECK-NEXT:             v0, v1 = T.axis.remap("SS", [i, ax1])
// CHECK-NEXT:             A_local[v0, v1] = A[v0, v1]
// CHECK-NEXT:     for j, k in T.grid(32, 24):
// CHECK-NEXT:         with T.block("C"):

// A loop that is not around the block is refused.
// RUN: not %{on:matmul_relu}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: read_at: block 'D' is not under the loop i
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %a = "tir.sch_read_at"(%c, %l#0) {at = "A", scope = "local"} : (!op, !op) -> !op
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %c = "tir.sch_get_block"(%kernel) {name = "C"} : (!op) -> !op
    %l:3 = "tir.sch_get_loops"(%c) : (!op) -> (!op, !op, !op)
    %d = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %a = "tir.sch_read_at"(%d, %l#0) {at = "C", scope = "local"} : (!op, !op) -> !op
    transform.yield
  }
}

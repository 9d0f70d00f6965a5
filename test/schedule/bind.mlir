// bind: the steps of the loop are threads of a device.
// RUN: %{on:three_steps} | filecheck %s
// CHECK:      B = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: C = T.alloc_buffer((30, 40), "float32")
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("B"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         B[vi, vj] = A[vi, vj] * 2.0
// CHECK-NEXT: for i, j in T.grid(30, 40):
// CHECK-NEXT:     with T.block("C"):
// CHECK-NEXT:         vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:         C[vi, vj] = B[vi, vj] + 1.0
// CHECK-NEXT: for i in T.thread_binding(30, thread="blockIdx.x"):
// CHECK-NEXT:     for j in T.thread_binding(40, thread="threadIdx.x"):
// CHECK-NEXT:         with T.block("D"):
// CHECK-NEXT:             vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:             D[vi, vj] = C[vi, vj] * C[vi, vj]

// There are six kinds of threads.
// RUN: not %{on:three_steps}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: bind: there are the threads blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, not 'threadIdx.q'
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    "tir.sch_bind"(%l#0) {thread = "blockIdx.x"} : (!op) -> ()
    "tir.sch_bind"(%l#1) {thread = "threadIdx.x"} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "D"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    "tir.sch_bind"(%l#0) {thread = "threadIdx.x"} : (!op) -> ()
    "tir.sch_bind"(%l#1) {thread = "threadIdx.q"} : (!op) -> ()
    transform.yield
  }
}

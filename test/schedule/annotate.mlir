// annotate notes something on a loop or a block, for who lowers it; unannotate takes it away.
// RUN: legato-opt %S/inputs/row_sum.mlir --transform-preload-library=transform-library-paths=%s --transform-interpreter | filecheck %s
// CHECK: annotations = {by = "hand"}, axes = ["vi", "vk"]
// CHECK: kind = "serial", name = "k"
// CHECK: annotations = {pragma_unroll = 4 : i64}, kind = "serial", name = "i"

// What is not noted cannot be taken away.
// RUN: not %{on:row_sum}=entry-point=refused 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: error: transform-interpreter failed: unannotate: the loop k has no annotation 'by'; it has: depth, to
!op = !transform.any_op
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    "tir.sch_annotate"(%b) {key = "by", value = "hand"} : (!op) -> ()
    "tir.sch_annotate"(%l#0) {key = "pragma_unroll", value = 4 : i64} : (!op) -> ()
    "tir.sch_annotate"(%l#1) {key = "for a moment", value = [1, "two"]} : (!op) -> ()
    "tir.sch_unannotate"(%l#1) {key = "for a moment"} : (!op) -> ()
    transform.yield
  }
  transform.named_sequence @refused(%kernel: !op {transform.readonly}) {
    %b = "tir.sch_get_block"(%kernel) {name = "B"} : (!op) -> !op
    %l:2 = "tir.sch_get_loops"(%b) : (!op) -> (!op, !op)
    "tir.sch_annotate"(%l#1) {key = "to", value = "go"} : (!op) -> ()
    "tir.sch_annotate"(%l#1) {key = "depth", value = 2 : i64} : (!op) -> ()
    "tir.sch_unannotate"(%l#1) {key = "by"} : (!op) -> ()
    transform.yield
  }
}

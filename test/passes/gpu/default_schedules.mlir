// RUN: legato-opt %s --tir-default-schedules=target=nvvm | filecheck %s
// RUN: legato-opt %s --tir-default-schedules=target=nvvm --tir-apply-schedules | filecheck %s --check-prefix=LOOPS
// RUN: legato-opt %s --tir-default-schedules='target=nvvm{schedules=false}' | filecheck %s --check-prefix=OFF
// RUN: not legato-opt %s --tir-default-schedules=target=llvm --reproducer=none 2>&1 | filecheck %s --check-prefix=CPU
// CPU: the target 'llvm' has no threads to map to: it is no GPU
// OFF-NOT: schedule_of_

// Each kernel gets a script that legato.Schedule could have written: four neighbours a thread where the sizes allow for them; the blocks of
// a softmax in one nest, with what lies between its reductions inlined and their results local. A kernel with a schedule keeps it.
// CHECK: func.func private @scaled({{.*}} attributes {tir.prim_func, tir.schedule = @schedule_of_scaled}
// CHECK: func.func private @rows({{.*}} attributes {tir.prim_func, tir.schedule = @schedule_of_rows}
// CHECK: func.func private @mine({{.*}} attributes {tir.prim_func, tir.schedule = @own}
// CHECK: transform.named_sequence @own
// CHECK: transform.named_sequence @schedule_of_scaled
// CHECK: "tir.sch_split"({{.*}}) {factors = array<i64: -1, 4>}
// CHECK: "tir.sch_vectorize"
// CHECK: transform.named_sequence @schedule_of_rows
// CHECK: "tir.sch_set_scope"({{.*}}) {at = 0 : i64, scope = "local"}
// CHECK: "tir.sch_compute_at"
// CHECK: {thread = "threadIdx.x"}

// LOOPS-NOT: transform.named_sequence
// LOOPS-LABEL: func.func private @rows
// LOOPS-COUNT-1: thread = "blockIdx.x"
// LOOPS-NOT: thread = "blockIdx.x"
// LOOPS-LABEL: func.func private @mine
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
module attributes {transform.with_named_sequence} {
func.func private @scaled(%x: tensor<8x12xf32>, %out: tensor<8x12xf32> {tir.out}) -> tensor<8x12xf32> attributes {tir.prim_func} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x12xf32>) outs(%out : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %a : f32
    linalg.yield %1 : f32
  } -> tensor<8x12xf32>
  return %0 : tensor<8x12xf32>
}
func.func private @rows(%x: tensor<8x1000xf32>, %out: tensor<8x1000xf32> {tir.out}) -> tensor<8x1000xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x1000xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<8x1000xf32>, tensor<8xf32>) outs(%out : tensor<8x1000xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.divf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<8x1000xf32>
  return %0 : tensor<8x1000xf32>
}
func.func private @mine(%x: tensor<8x12xf32>, %out: tensor<8x12xf32> {tir.out}) -> tensor<8x12xf32> attributes {tir.prim_func, tir.schedule = @own} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x12xf32>) outs(%out : tensor<8x12xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x12xf32>
  return %0 : tensor<8x12xf32>
}
transform.named_sequence @own(%kernel: !transform.any_op {transform.readonly}) {
  %0 = "tir.sch_get_block"(%kernel) {name = "copy"} : (!transform.any_op) -> !transform.any_op
  transform.yield
}
}

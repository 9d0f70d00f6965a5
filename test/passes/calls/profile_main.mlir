// RUN: legato-opt %s --tir-profile-main | filecheck %s
// RUN: legato-opt %s --tir-profile-main --tir-profile-main | filecheck %s
// @main stays as it is; a copy of it times its calls of kernels, in branches too, and not those of other functions.

// CHECK-LABEL: func.func @main(
// CHECK-NOT: @legato.
func.func @main(%x: memref<8xf32> {relax.name = "x"}, %y: memref<8xf32> {relax.name = "y", tir.out}, %p: i1) -> i32 {
  func.call @helper() : () -> ()
  func.call @kernel(%x, %y) {relax.ops = ["relax.exp a"], relax.work = ["8", "64"]} : (memref<8xf32>, memref<8xf32>) -> ()
  scf.if %p {
    func.call @kernel(%y, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  %code = arith.constant 0 : i32
  return %code : i32
}
func.func private @helper() {
  return
}
func.func private @kernel(%a: memref<8xf32>, %b: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  return
}

// CHECK: func.func private @main_profiled(%[[X:.*]]: memref<8xf32> {relax.name = "x"}, %{{.*}}: memref<8xf32> {relax.name = "y", tir.out}, %{{.*}}: i1, %[[E:.*]]: !llvm.ptr {tir.events}) -> i32
// CHECK-SAME: tir.profiled = [{function = "kernel", ops = ["relax.exp a"], work = ["8", "64"]}, {function = "kernel", ops = [], work = []}]
// CHECK-NEXT: call @helper()
// CHECK-NEXT: %[[B:.*]] = call @legato.begin(%[[E]]) : (!llvm.ptr) -> i64
// CHECK-NEXT: %[[N:.*]] = arith.constant 0 : i64
// CHECK-NEXT: call @kernel(%[[X]]
// CHECK-NEXT: call @legato.record(%[[E]], %[[N]], %[[B]]) : (!llvm.ptr, i64, i64) -> ()
// CHECK-NEXT: scf.if
// CHECK-NEXT: call @legato.begin(
// CHECK-NEXT: arith.constant 1 : i64
// CHECK-NEXT: call @kernel(
// CHECK-NEXT: call @legato.record(
// CHECK: return

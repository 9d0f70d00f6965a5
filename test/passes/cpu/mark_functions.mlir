// RUN: legato-opt %s --tir-mark-functions=target=llvm{cpu=x86-64-v3} | filecheck %s

// Kernels become internal functions of their own; all that has a body is made for the target's CPU.
// CHECK: llvm.func internal @kernel(
// CHECK-SAME: passthrough = ["noinline"]
// CHECK-SAME: target_cpu = "x86-64-v3", target_features = #llvm.target_features<[{{.*}}"+avx2"
llvm.func @kernel(%x: !llvm.ptr) attributes {tir.prim_func} {
  llvm.return
}
// CHECK: llvm.func @main(
// CHECK-NOT: noinline
// CHECK-SAME: target_cpu = "x86-64-v3"
llvm.func @main(%x: !llvm.ptr) {
  llvm.call @kernel(%x) : (!llvm.ptr) -> ()
  llvm.return
}
// CHECK: llvm.func @malloc(i64) -> !llvm.ptr
// CHECK-NOT: target_cpu
llvm.func @malloc(i64) -> !llvm.ptr

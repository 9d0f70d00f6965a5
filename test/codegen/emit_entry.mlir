// RUN: legato-opt %s --split-input-file --tir-emit-entry --verify-diagnostics | filecheck %s
// RUN: legato-opt %s --split-input-file --tir-emit-entry="flush-denormals=true" --verify-diagnostics | filecheck %s --check-prefix=FLUSH
// RUN: legato-compile --print-pipeline=llvm --target 'llvm{flush-denormals=true}' | filecheck %s --check-prefix=PIPELINE

// Kernels and main become internal. Exported are the function that makes instances, the metadata, and the place for the weights' digest.
// CHECK: llvm.func internal @k(%arg0: !llvm.ptr) attributes {passthrough = ["noinline"]}
// CHECK: llvm.func internal @main(
// CHECK: llvm.func internal @main_sizes(
// CHECK: llvm.mlir.global external constant @legato_metadata("{\22format\22:2,
// CHECK-SAME: \22inputs\22:[{\22name\22:\22x\22,\22dtype\22:\22bool\22,\22shape\22:[\22n\22,4]}]
// CHECK-SAME: \22weights\22:[{\22name\22:\22w\22,\22dtype\22:\22float32\22,\22shape\22:[4]}]
// CHECK-SAME: \22target\22:{\22cpu\22:\22x86-64-v3\22,\22features\22:\22+avx2,+fma\22},\22openmp\22:false
// CHECK: llvm.mlir.global external constant @legato_weights_digest("legato weights digest: 00000000000000000000000000000000\00")
// CHECK: @legato.counts(dense<{{\[}}[1, 1, 1, 3, 1, 0, 0, 1, 0, 0]]>
// FLUSH: @legato.counts(dense<{{\[}}[1, 1, 1, 3, 1, 0, 0, 1, 0, 1]]>
// PIPELINE: tir-emit-entry{flush-denormals=true}
// CHECK: @legato.inputs(dense<{{.*}}, 67590, 2, 0, 1]]>
// CHECK: @legato.axes(dense<{{\[}}[0, 1, 0], [-1, 1, 4]]>
// CHECK: @legato.outputs(dense<{{\[}}[73730, 2, 1, 4, -1]]>
// CHECK: @legato.strings("main(x: bool[n, 4])\00x\00bool[n, 4]\00n\00\00")
// CHECK: llvm.func internal @legato.main(
// CHECK: llvm.call @main({{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
// The functions that are the same for all models stay outside, and get the list of what this one has.
// CHECK: llvm.func @legato.entry.create(!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
// CHECK: llvm.func @__tvm_ffi_create(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i32, %arg3: !llvm.ptr) -> i32
// CHECK-SAME: target_cpu = "x86-64"
// CHECK-NEXT: %[[LIST:.*]] = llvm.mlir.addressof @legato.model
// CHECK-NEXT: llvm.call @legato.entry.create(%[[LIST]], %arg0, %arg1, %arg2, %arg3)
// CHECK: llvm.mlir.global internal constant @legato.model() {{.*}}: !llvm.array<{{.*}} x ptr> {
// CHECK: %[[COUNTS:.*]] = llvm.mlir.addressof @legato.counts
// CHECK: llvm.insertvalue %[[COUNTS]]
// CHECK: %[[MAIN:.*]] = llvm.mlir.addressof @legato.main
// CHECK: llvm.insertvalue %[[MAIN]]
// CHECK-NOT: legato.pool
llvm.func @k(%p: !llvm.ptr) { llvm.return }
llvm.func @main(%x: !llvm.ptr {relax.name = "x"}, %w: !llvm.ptr {relax.weight = "w"}, %y: !llvm.ptr {relax.name = "y", tir.out},
                %arena: !llvm.ptr {tir.arena}, %n: i64 {relax.symbol = "n"}) -> i32
    attributes {relax.signature = (tensor<?x4xi1, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>,
                target_cpu = "x86-64-v3", target_features = #llvm.target_features<["+avx2", "+fma"]>} {
  llvm.call @k(%x) : (!llvm.ptr) -> ()
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @main_sizes(%symbols: !llvm.ptr, %sizes: !llvm.ptr) { llvm.return }

// -----

// A CPU is only named where the kernels name one; a module without weights has no place for a digest.
// CHECK: llvm.func @__tvm_ffi_create
// CHECK-NOT: target_cpu
// CHECK-NOT: _digest
llvm.func @main(%y: !llvm.ptr {tir.out}, %arena: !llvm.ptr {tir.arena}) -> i32 attributes {relax.signature = () -> tensor<4xf32>} {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
llvm.func @main_sizes(%symbols: !llvm.ptr, %sizes: !llvm.ptr) { llvm.return }

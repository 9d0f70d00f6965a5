// RUN: legato-opt %s --tir-constant-distances | filecheck %s

gpu.module @kernels {
  // (i + 3) * 16 + j + 2 is 50 elements behind i * 16 + j.
  // CHECK-LABEL: llvm.func @places
  // CHECK: %[[ROW:.*]] = llvm.mul %arg1, %{{.*}} : i32
  // CHECK: %[[REST:.*]] = llvm.add %[[ROW]], %arg2 : i32
  // CHECK: %[[FIRST:.*]] = llvm.getelementptr %arg0[%[[REST]]] : (!llvm.ptr, i32) -> !llvm.ptr, f32
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[FIRST]][50] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK: llvm.load %[[PLACE]]
  llvm.func @places(%x: !llvm.ptr, %i: i32, %j: i32) -> f32 {
    %c2 = llvm.mlir.constant(2 : index) : i32
    %c3 = llvm.mlir.constant(3 : index) : i32
    %c16 = llvm.mlir.constant(16 : index) : i32
    %0 = llvm.add %i, %c3 : i32
    %1 = llvm.mul %0, %c16 overflow<nsw, nuw> : i32
    %2 = llvm.add %j, %c2 : i32
    %3 = llvm.add %1, %2 overflow<nsw, nuw> : i32
    %4 = llvm.getelementptr inbounds|nuw %x[%3] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %5 = llvm.load %4 : !llvm.ptr -> f32
    llvm.return %5 : f32
  }

  // Where nothing is constant, where all is, where it is 65536 and more, and of indices of 64 bits, addresses stay.
  // CHECK-LABEL: llvm.func @others
  // CHECK: llvm.getelementptr inbounds %arg0[%arg1]
  // CHECK: llvm.getelementptr inbounds %arg0[%{{.*}}] : (!llvm.ptr, i32)
  // CHECK: llvm.getelementptr inbounds %arg0[%{{.*}}] : (!llvm.ptr, i32)
  // CHECK: llvm.getelementptr inbounds %arg0[%{{.*}}] : (!llvm.ptr, i64)
  llvm.func @others(%x: !llvm.ptr, %i: i32, %j: i64) {
    %c2 = llvm.mlir.constant(2 : index) : i32
    %far = llvm.mlir.constant(65536 : index) : i32
    %wide = llvm.mlir.constant(2 : index) : i64
    %0 = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %1 = llvm.getelementptr inbounds %x[%c2] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %2 = llvm.add %i, %far : i32
    %3 = llvm.getelementptr inbounds %x[%2] : (!llvm.ptr, i32) -> !llvm.ptr, f32
    %4 = llvm.add %j, %wide : i64
    %5 = llvm.getelementptr inbounds %x[%4] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.return
  }
}

// RUN: legato-opt %s --tir-widen-indices --canonicalize | filecheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @index(
  // CHECK-SAME: %[[I:.*]]: i32
  // CHECK: %[[WIDE:.*]] = llvm.sext %[[I]] : i32 to i64
  // CHECK: llvm.return %[[WIDE]]
  llvm.func @index(%i: i32) -> i64 {
    %0 = builtin.unrealized_conversion_cast %i : i32 to index
    %1 = builtin.unrealized_conversion_cast %0 : index to i64
    llvm.return %1 : i64
  }

  // CHECK-LABEL: llvm.func @buffer(
  // CHECK-SAME: %[[D:.*]]: !llvm.struct
  // CHECK-DAG: %[[P:.*]] = llvm.extractvalue %[[D]][1]
  // CHECK-DAG: %[[S:.*]] = llvm.extractvalue %[[D]][4, 0]
  // CHECK-DAG: %[[WIDE:.*]] = llvm.sext %[[S]] : i32 to i64
  // CHECK: %[[ALL:.*]] = llvm.insertvalue %{{.*}}, %{{.*}}[4, 1] : !llvm.struct<(ptr<3>, ptr<3>, i64, array<2 x i64>, array<2 x i64>)>
  // CHECK: llvm.return %[[ALL]]
  llvm.func @buffer(%d: !llvm.struct<(ptr<3>, ptr<3>, i32, array<2 x i32>, array<2 x i32>)>)
      -> !llvm.struct<(ptr<3>, ptr<3>, i64, array<2 x i64>, array<2 x i64>)> {
    %0 = builtin.unrealized_conversion_cast %d : !llvm.struct<(ptr<3>, ptr<3>, i32, array<2 x i32>, array<2 x i32>)> to memref<8x8xf16, 3>
    %1 = builtin.unrealized_conversion_cast %0 : memref<8x8xf16, 3> to !llvm.struct<(ptr<3>, ptr<3>, i64, array<2 x i64>, array<2 x i64>)>
    llvm.return %1 : !llvm.struct<(ptr<3>, ptr<3>, i64, array<2 x i64>, array<2 x i64>)>
  }

  // Other casts are left.
  // CHECK-LABEL: llvm.func @others
  // CHECK: builtin.unrealized_conversion_cast %{{.*}} : i16 to index
  llvm.func @others(%i: i16) -> i64 {
    %0 = builtin.unrealized_conversion_cast %i : i16 to index
    %1 = builtin.unrealized_conversion_cast %0 : index to i64
    llvm.return %1 : i64
  }
}

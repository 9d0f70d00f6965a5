// RUN: legato-opt %s --tir-split-blocks="longest=5 part=4" | filecheck %s

// Parts take the values that they use, but for constants, and return what later ones use: a value, or a struct of several. Memory of the
// stack stays, and ends a part.
// CHECK-LABEL: llvm.func internal @main_block_0(
// CHECK-SAME: %[[N:.*]]: i64, %[[X:.*]]: !llvm.ptr) -> !llvm.struct<(i64, i64)>
// CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i64) : i64
// CHECK: %[[A:.*]] = llvm.mul %[[N]], %[[TWO]]
// CHECK: %[[B:.*]] = llvm.add %[[A]], %[[N]]
// CHECK: llvm.call @kernel(%[[X]], %[[A]])
// CHECK: llvm.call @kernel(%[[X]], %[[B]])
// CHECK: %[[P:.*]] = llvm.mlir.poison
// CHECK: %[[Q:.*]] = llvm.insertvalue %[[A]], %[[P]][0]
// CHECK: %[[R:.*]] = llvm.insertvalue %[[B]], %[[Q]][1]
// CHECK: llvm.return %[[R]]
// CHECK-LABEL: llvm.func internal @main_block_1(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i64
// CHECK-LABEL: llvm.func internal @main_block_2(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr) {
// CHECK-LABEL: llvm.func @main(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr, %[[N:.*]]: i64)
// CHECK-NEXT: %[[S:.*]] = llvm.call @main_block_0(%[[N]], %[[X]])
// CHECK: %[[A:.*]] = llvm.extractvalue %[[S]][0]
// CHECK: %[[B:.*]] = llvm.extractvalue %[[S]][1]
// CHECK: %[[C:.*]] = llvm.call @main_block_1(%[[X]], %[[B]])
// CHECK: %[[M:.*]] = llvm.alloca %[[C]]
// CHECK: llvm.call @main_block_2(%[[M]], %[[A]], %[[X]])
// CHECK: llvm.return
llvm.func @kernel(!llvm.ptr, i64) attributes {tir.prim_func}
llvm.func @main(%x: !llvm.ptr, %n: i64) {
  %two = llvm.mlir.constant(2 : i64) : i64
  %a = llvm.mul %n, %two : i64
  %b = llvm.add %a, %n : i64
  llvm.call @kernel(%x, %a) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %b) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %b) : (!llvm.ptr, i64) -> ()
  %c = llvm.mul %b, %two : i64
  %memory = llvm.alloca %c x i8 : (i64) -> !llvm.ptr
  llvm.call @kernel(%memory, %a) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %two) : (!llvm.ptr, i64) -> ()
  llvm.return
}

// Neither short blocks nor those of kernels.
// CHECK-LABEL: llvm.func @short(
// CHECK-COUNT-3: llvm.call @kernel
llvm.func @short(%x: !llvm.ptr, %n: i64) {
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.return
}
// CHECK-LABEL: llvm.func @long(
// CHECK-COUNT-6: llvm.call @kernel
llvm.func @long(%x: !llvm.ptr, %n: i64) attributes {tir.prim_func} {
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.call @kernel(%x, %n) : (!llvm.ptr, i64) -> ()
  llvm.return
}

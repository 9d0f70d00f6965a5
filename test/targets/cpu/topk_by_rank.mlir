// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s

// 40 elements are two whole vectors and one of which 8 lanes are used. In a block before its own, an equal element comes first; in its own the
// lanes decide; behind it, only greater ones do.
// CHECK-LABEL: func.func private @kernel_topk
// CHECK: vector.transfer_read %{{.*}} : tensor<100x40xf32>, vector<16xf32>
// CHECK: scf.for {{.*}} -> (vector<16xi32>, vector<16xi32>, vector<16xi32>)
// CHECK: arith.cmpi sgt, {{.*}} : vector<16xi32>
// CHECK: arith.cmpi slt, {{.*}} : vector<16xi32>
// CHECK: arith.cmpi eq, {{.*}} : vector<16xi32>
// CHECK: arith.cmpi sge, {{.*}} : vector<16xi32>
// CHECK: arith.cmpi sge, {{.*}} : vector<16xi32>
// CHECK: scf.for {{.*}} -> (vector<16xi32>, vector<16xi32>, vector<16xi32>)
// CHECK: arith.cmpi sgt, {{.*}} : vector<16xi32>
// CHECK: arith.cmpi sgt, {{.*}} : vector<16xi32>
// CHECK: arith.cmpi sge, {{.*}} : vector<16xi32>
// The order: one store for each element.
// CHECK: scf.for {{.*}} -> (tensor<48xindex>)
// CHECK-NOT: scf.if
// CHECK: return
func.func @router(%x: tensor<100x40xf32>) -> tensor<100x4xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 4 : i64} : (tensor<100x40xf32>) -> tensor<100x4xi64>
  return %0 : tensor<100x4xi64>
}

// Of 100 in which one is wanted, few enter a heap.
// CHECK-LABEL: func.func private @kernel_topk_0
// CHECK: scf.if
func.func @best(%x: tensor<100x100xf32>) -> tensor<100x1xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 1 : i64} : (tensor<100x100xf32>) -> tensor<100x1xi64>
  return %0 : tensor<100x1xi64>
}

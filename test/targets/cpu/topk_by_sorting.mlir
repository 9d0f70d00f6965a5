// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s

// 100 elements, of which 50 are wanted, are sorted with 28 keys of nothing: a network of four vectors in registers, and steps of memory.
// CHECK-LABEL: func.func private @kernel_topk
// CHECK-NOT: scf.if
// CHECK: tensor.empty() : tensor<128xi64>
// CHECK: vector.transfer_read %{{.*}} : tensor<100x100xf32>, vector<8xf32>
// CHECK: vector.shuffle %[[A:.*]], %[[A]] [1, 0, 3, 2, 5, 4, 7, 6]
// CHECK: arith.maxsi {{.*}} : vector<8xi64>
// CHECK: arith.minsi {{.*}} : vector<8xi64>
// CHECK: vector.shuffle {{.*}} [0, 9, 2, 11, 4, 13, 6, 15]
// CHECK: vector.transfer_write {{.*}} : vector<8xi64>, tensor<100x50xi64>
// CHECK-NOT: scf.if
// CHECK: return
func.func @half(%x: tensor<100x100xf32>) -> tensor<100x50xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 50 : i64} : (tensor<100x100xf32>) -> tensor<100x50xi64>
  return %0 : tensor<100x50xi64>
}

// Of 1000, those that beat the worst of the best 64 so far wait until they are 64.
// CHECK-LABEL: func.func private @kernel_topk_0
// CHECK: tensor.empty() : tensor<64xi64>
// CHECK: tensor.empty() : tensor<72xi64>
// CHECK: vector.transfer_read %{{.*}} : tensor<100x1000xf32>, vector<16xf32>
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: tensor.insert
// CHECK: arith.cmpi ugt
// CHECK: scf.if
// CHECK: arith.maxsi {{.*}} : vector<8xi64>
func.func @some(%x: tensor<100x1000xf32>) -> tensor<100x50xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 50 : i64} : (tensor<100x1000xf32>) -> tensor<100x50xi64>
  return %0 : tensor<100x50xi64>
}

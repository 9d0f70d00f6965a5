// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s

// The best ten are in two vectors of keys. Of each vector of elements the lanes of better ones are visited: there all keys move on by a lane
// that are less than the new one. The last vector of a row has 8 lanes.
// CHECK-LABEL: func.func private @kernel_topk
// CHECK: scf.for {{.*}} -> (vector<8xi64>, vector<8xi64>, i64)
// CHECK: vector.transfer_read %{{.*}} {in_bounds = [true]} : tensor<100x1000xf32>, vector<16xf32>
// CHECK: vector.bitcast {{.*}} : vector<16xi1> to vector<1xi16>
// CHECK: scf.if
// CHECK: math.ctpop {{.*}} : i16
// CHECK: scf.for {{.*}} -> (i16, vector<8xi64>, vector<8xi64>)
// CHECK: math.cttz {{.*}} : i16
// CHECK: vector.shuffle {{.*}} [8, 0, 1, 2, 3, 4, 5, 6] : vector<8xi64>, vector<8xi64>
// CHECK: arith.minsi {{.*}} : vector<8xi64>
// CHECK: arith.maxsi {{.*}} : vector<8xi64>
// CHECK: vector.shuffle {{.*}} [7, 8, 9, 10, 11, 12, 13, 14] : vector<8xi64>, vector<8xi64>
// CHECK: vector.transfer_read %{{.*}} : tensor<100x1000xf32>, vector<16xf32>
// CHECK: arith.constant 255 : i16
// CHECK: return
func.func @router(%x: tensor<100x1000xf32>) -> tensor<100x10xi64> {
  %0 = "relax.topk"(%x) {axis = 1 : i64, k = 10 : i64} : (tensor<100x1000xf32>) -> tensor<100x10xi64>
  return %0 : tensor<100x10xi64>
}

// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=znver4}" | filecheck %s
// RUN: legato-opt %s --relax-legalize="target=llvm{cpu=x86-64-v4}" | filecheck %s --check-prefix=NONE

// 64 bytes at a time, by both halves of the table, and the rest under a mask.
// CHECK-LABEL: func.func private @kernel_take(
// CHECK: scf.for
// CHECK: %[[INDEX:.*]] = vector.transfer_read %{{.*}} {in_bounds = [true]} : tensor<?xi8>, vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"(%{{.*}}, %[[INDEX]], %{{.*}})
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"(%{{.*}}, %[[INDEX]], %{{.*}})
// CHECK: arith.select
// CHECK: vector.transfer_write
// CHECK: vector.transfer_read %{{.*}} : tensor<?xi8>, vector<64xi8>
// CHECK: return
// Signed indices may count from the end, and are read one by one.
// CHECK-NOT: vpermi2var
// NONE-NOT: vpermi2var
func.func @main(%x: tensor<?x70xui8, #relax.dims<["n", 70]>>, %y: tensor<128xi8>) -> (tensor<?x70xui8, #relax.dims<["n", 70]>>, tensor<128xui8>) {
  %table = "relax.constant"() {value = dense<7> : tensor<256xui8>} : () -> tensor<256xui8>
  %0 = "relax.take"(%table, %x) : (tensor<256xui8>, tensor<?x70xui8, #relax.dims<["n", 70]>>) -> tensor<?x70xui8, #relax.dims<["n", 70]>>
  %1 = "relax.take"(%table, %y) : (tensor<256xui8>, tensor<128xi8>) -> tensor<128xui8>
  return %0, %1 : tensor<?x70xui8, #relax.dims<["n", 70]>>, tensor<128xui8>
}

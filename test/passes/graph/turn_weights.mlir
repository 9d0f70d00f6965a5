// relax-turn-weights: constants of f32 lie with the depth along rows, where warpgroups multiply f32.
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{chip=sm_90a matmul-precision=tf32}" | filecheck %s
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{chip=sm_90a}" | filecheck %s --check-prefix=OTHER
// RUN: legato-opt %s --relax-turn-weights="target=nvvm{matmul-precision=tf32}" | filecheck %s --check-prefix=OTHER
// OTHER-NOT: matmul_turned

// CHECK-LABEL: func.func @rows
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} -> tensor<64x36xf32>
// CHECK: "relax.matmul_turned"(%arg0, %[[W]]) : (tensor<?x36xf32, #relax.dims<["n", 36]>>, tensor<64x36xf32>)
func.func @rows(%x: tensor<?x36xf32, #relax.dims<["n", 36]>>) -> tensor<?x64xf32, #relax.dims<["n", 64]>> {
  %w = "relax.constant"() {value = dense<1.5> : tensor<36x64xf32>} : () -> tensor<36x64xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x36xf32, #relax.dims<["n", 36]>>, tensor<36x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %0 : tensor<?x64xf32, #relax.dims<["n", 64]>>
}

// Few rows, rows that are no multiple of 16 bytes, a weight that something else reads, and what is no constant stay.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: "relax.matmul"(
// CHECK-NOT: matmul_turned
func.func @others(%x: tensor<63x36xf32>, %y: tensor<64x37xf32>, %z: tensor<64x40xf32>, %w: tensor<40x64xf32>)
    -> (tensor<63x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<40x64xf32>) {
  %few = "relax.constant"() {value = dense<1.0> : tensor<36x64xf32>} : () -> tensor<36x64xf32>
  %odd = "relax.constant"() {value = dense<2.0> : tensor<37x64xf32>} : () -> tensor<37x64xf32>
  %shared = "relax.constant"() {value = dense<3.0> : tensor<40x64xf32>} : () -> tensor<40x64xf32>
  %0 = "relax.matmul"(%x, %few) : (tensor<63x36xf32>, tensor<36x64xf32>) -> tensor<63x64xf32>
  %1 = "relax.matmul"(%y, %odd) : (tensor<64x37xf32>, tensor<37x64xf32>) -> tensor<64x64xf32>
  %2 = "relax.matmul"(%z, %shared) : (tensor<64x40xf32>, tensor<40x64xf32>) -> tensor<64x64xf32>
  %3 = "relax.matmul"(%z, %w) : (tensor<64x40xf32>, tensor<40x64xf32>) -> tensor<64x64xf32>
  return %0, %1, %2, %3, %shared : tensor<63x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<40x64xf32>
}

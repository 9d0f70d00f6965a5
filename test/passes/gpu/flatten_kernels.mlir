// Buffers get one dimension and a storage class, run-time sizes come by a last buffer of i32 that the host fills; i1 takes a byte.
// RUN: legato-opt %s --tir-flatten-kernels --canonicalize --cse --verify-each | filecheck %s
// RUN: legato-opt %s --tir-flatten-kernels --convert-gpu-to-spirv | filecheck %s --check-prefix=SPIRV

// CHECK-LABEL: func.func @host
// CHECK: [[SIZES:%.+]] = memref.alloc() : memref<3xi32>
// CHECK: memref.store {{.*}}, [[SIZES]]
// CHECK: gpu.launch_func @k::@k {{.*}} args(%{{.*}} : memref<?xf32, #spirv.storage_class<StorageBuffer>>, %{{.*}} : memref<?xi8, #spirv.storage_class<StorageBuffer>>, %{{.*}} : memref<?xi32, #spirv.storage_class<StorageBuffer>>)
// CHECK: gpu.module @k [#spirv.target_env<
// CHECK: gpu.func @k(%[[X:.+]]: memref<?xf32, {{.*}}>, %[[M:.+]]: memref<?xi8, {{.*}}>, %[[N:.+]]: memref<?xi32, {{.*}}>) kernel
// CHECK-SAME: spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [64, 1, 1]>
// CHECK: memref.load %[[N]][%{{.*}}] : memref<?xi32,
// CHECK: memref.alloc() : memref<128xf32, #spirv.storage_class<Workgroup>>
// CHECK: memref.load %[[X]][%{{.*}}] : memref<?xf32,
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: memref.store %{{.*}}, %[[M]][%{{.*}}] : memref<?xi8,
// SPIRV: spirv.module @__spv__k
// SPIRV: spirv.GlobalVariable @{{.*}} : !spirv.ptr<{{.*}}128 x f32{{.*}}, Workgroup>
module attributes {gpu.container_module} {
  func.func @host(%x: memref<?x?xf32>, %m: memref<4xi1>, %n: index) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @k::@k blocks in (%n, %c1, %c1) threads in (%c64, %c1, %c1) args(%n : index, %x : memref<?x?xf32>, %m : memref<4xi1>)
    return
  }
  gpu.module @k {
    gpu.func @k(%n: index, %x: memref<?x?xf32>, %m: memref<4xi1>) workgroup(%shared: memref<64x2xf32, #gpu.address_space<workgroup>>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %t = gpu.thread_id x
      %c1 = arith.constant 1 : index
      %v = memref.load %x[%n, %t] : memref<?x?xf32>
      memref.store %v, %shared[%t, %c1] : memref<64x2xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %zero = arith.constant 0.0 : f32
      %u = memref.load %shared[%t, %n] : memref<64x2xf32, #gpu.address_space<workgroup>>
      %on = arith.cmpf ogt, %u, %zero : f32
      memref.store %on, %m[%c1] : memref<4xi1>
      gpu.return
    }
  }
}

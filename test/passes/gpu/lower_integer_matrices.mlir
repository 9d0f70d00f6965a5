// Products of matrices of bytes say which of their factors are signed; their sums wrap. Other products are upstream's to lower.
// RUN: legato-opt %s --tir-lower-integer-matrices | filecheck %s

// CHECK-LABEL: gpu.func @bytes
// CHECK:       [[WORDS:%.+]] = vector.bitcast %arg0 : vector<4x4xi8> to vector<4x1xi32>
// CHECK:       vector.extract [[WORDS]][3, 0]
// CHECK:       [[SUMS:%.+]] = nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[{{.*}}] {intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>,
// CHECK-SAME:    multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>, shape = #nvvm.shape<m = 16, n = 8, k = 32>}
// CHECK:       [[LAST:%.+]] = llvm.extractvalue [[SUMS]][3]
// CHECK:       vector.from_elements {{.*}}, [[LAST]] : vector<2x2xi32>
// CHECK:       nvgpu.mma.sync
gpu.module @kernels {
  gpu.func @bytes(%a: vector<4x4xi8>, %b: vector<2x4xi8>, %c: vector<2x2xi32>, %x: vector<4x2xf16>, %y: vector<2x2xf16>, %z: vector<2x2xf32>,
                  %sums: memref<2x2xi32>, %others: memref<2x2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 32], tir.factor_types = ["u8", "s8"]} : (vector<4x4xi8>, vector<2x4xi8>, vector<2x2xi32>) -> vector<2x2xi32>
    vector.store %0, %sums[%c0, %c0] : memref<2x2xi32>, vector<2x2xi32>
    %1 = nvgpu.mma.sync(%x, %y, %z) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.store %1, %others[%c0, %c0] : memref<2x2xf32>, vector<2x2xf32>
    gpu.return
  }
}

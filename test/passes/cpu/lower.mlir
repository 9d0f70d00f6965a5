// RUN: legato-opt %s --split-input-file --tir-lower=target=llvm{cpu=x86-64-v3} | filecheck %s

// Kernels become internal functions of their own, for the target's CPU; an exponential is a polynomial, no call of libm.
// CHECK-LABEL: llvm.func internal @exponential(
// CHECK-SAME: passthrough = ["noinline"]
// CHECK-SAME: target_cpu = "x86-64-v3", target_features = #llvm.target_features<[{{.*}}"+avx2"
// CHECK-NOT: llvm.call
// CHECK-COUNT-6: llvm.intr.fma
// CHECK: llvm.func @main(
// CHECK-SAME: target_cpu = "x86-64-v3"
// CHECK: llvm.call @exponential
func.func private @exponential(%x: memref<8xf32>, %out: memref<8xf32> {tir.out}) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %0 = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
  %1 = math.exp %0 : vector<8xf32>
  vector.transfer_write %1, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}
func.func @main(%x: memref<8xf32>) -> memref<8xf32> {
  %0 = memref.alloc() : memref<8xf32>
  call @exponential(%x, %0) : (memref<8xf32>, memref<8xf32>) -> ()
  return %0 : memref<8xf32>
}

// -----

// A copy of rows of a strided buffer is a loop of memcpys; bf16 is moved as integers.
// CHECK-LABEL: llvm.func @rows(
// CHECK: llvm.cond_br
// CHECK: llvm.intr.memcpy
// CHECK-NOT: memrefCopy
// CHECK-LABEL: llvm.func @halves(
// CHECK-NOT: bf16
// CHECK: llvm.return
func.func @rows(%x: memref<4x16xf32, strided<[32, 1], offset: 8>>, %y: memref<4x16xf32>) {
  memref.copy %x, %y : memref<4x16xf32, strided<[32, 1], offset: 8>> to memref<4x16xf32>
  return
}
func.func @halves(%x: memref<16xbf16>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %0 = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : memref<16xbf16>, vector<16xbf16>
  %1 = arith.extf %0 : vector<16xbf16> to vector<16xf32>
  vector.transfer_write %1, %y[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  return
}

// -----

// The greater of two, where one is a constant, is one comparison; a NaN in the other stays.
// CHECK-LABEL: llvm.func @relu(
// CHECK: llvm.fcmp "ogt" %[[ZERO:.*]], %[[X:.*]] :
// CHECK-NEXT: llvm.select %{{.*}}, %[[ZERO]], %[[X]]
// CHECK-NOT: llvm.fcmp
// CHECK-LABEL: llvm.func @greater(
// CHECK-COUNT-2: llvm.fcmp
func.func @relu(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %0 = arith.maximumf %x, %zero : f32
  return %0 : f32
}
func.func @greater(%x: f32, %y: f32) -> f32 {
  %0 = arith.maximumf %x, %y : f32
  return %0 : f32
}

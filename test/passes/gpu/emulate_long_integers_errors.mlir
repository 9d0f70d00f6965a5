// RUN: not legato-opt %s --tir-emulate-long-integers 2>&1 | filecheck %s

// CHECK: math.ctpop "ones": math.ctpop of integers of 64 bits has no form in words of 32 bits, and the device has no longer ones; have the model compute it in i32
gpu.module @k {
  gpu.func @ones(%x: memref<?xi64>) kernel {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%c0] : memref<?xi64>
    %b = math.ctpop %a : i64 loc("ones")
    memref.store %b, %x[%c0] : memref<?xi64>
    gpu.return
  }
}

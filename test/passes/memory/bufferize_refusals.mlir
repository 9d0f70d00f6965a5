// RUN: legato-opt %s --split-input-file --pass-pipeline=%{bufferize} --verify-diagnostics

// An op that no rule has legalized.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{it is still an op of the graph: run relax-legalize first}}
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A workspace whose size stands in memory: who calls the kernel cannot know it.
// expected-error@+1 {{the size of a workspace depends on the result of memref.load, which its caller cannot compute}}
func.func private @k(%x: tensor<8xi64>, %out: tensor<8xf32> {tir.out, bufferization.writable = true}) -> tensor<8xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %v = tensor.extract %x[%c0] : tensor<8xi64>
  %n = arith.index_cast %v : i64 to index
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = tensor.extract_slice %0[0] [8] [1] : tensor<?xf32> to tensor<8xf32>
  %2 = linalg.exp ins(%1 : tensor<8xf32>) outs(%out : tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func @main(%x: tensor<8xi64>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @k(%x, %e) : (tensor<8xi64>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

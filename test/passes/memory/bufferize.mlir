// RUN: legato-opt %s --split-input-file --pass-pipeline=%{bufferize} | filecheck %s

// A kernel writes its output and returns nothing, also where its value was not tied to the output; small buffers go on the stack.
// CHECK-LABEL: func.func private @two_steps(
// CHECK-SAME: %[[X:.*]]: memref<4x8xf32>, %[[OUT:.*]]: memref<4x8xf32> {tir.out}) attributes
// CHECK: %[[STACK:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4x8xf32>
// CHECK: linalg.exp ins(%[[X]] : memref<4x8xf32>) outs(%[[STACK]] : memref<4x8xf32>)
// CHECK: linalg.add ins(%[[STACK]], %[[X]] : {{.*}}) outs(%[[OUT]] : memref<4x8xf32>)
// CHECK-NEXT: return
func.func private @two_steps(%x: tensor<4x8xf32>, %out: tensor<4x8xf32> {tir.out, bufferization.writable = true}) -> tensor<4x8xf32>
    attributes {tir.prim_func} {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.add ins(%0, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
// main returns buffers of its own: arguments, constants, parts and what is returned twice are copied.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<4x8xf32> {relax.name = "x"}
// CHECK-SAME: relax.signature = (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2xf32>)
// CHECK: %[[A:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
// CHECK: call @two_steps(%[[X]], %[[A]]) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
// CHECK: %[[B:.*]] = memref.alloc
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: %[[C:.*]] = memref.alloc
// CHECK: memref.copy %[[X]], %[[C]]
// CHECK: %[[D:.*]] = memref.alloc
// CHECK: memref.copy %{{.*}}, %[[D]]
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = call @two_steps(%x, %e) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %0, %x, %1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2xf32>
}

// -----

// A larger buffer, and one of dynamic size, is an argument that main allocates; its size is computed by the caller.
// CHECK-LABEL: func.func private @spacious(
// CHECK-SAME: %{{.*}}: memref<?x128xf32>, %{{.*}}: memref<?x128xf32> {tir.out}, %[[W:.*]]: memref<?x256xf32>)
// CHECK-NOT: memref.alloc
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[W]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<?x128xf32>
// CHECK: %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[OUT:.*]] = memref.alloc(%[[N]])
// CHECK: %[[M:.*]] = arith.muli %[[N]], %c2
// CHECK: %[[SPACE:.*]] = memref.alloc(%[[M]]) {alignment = 64 : i64} : memref<?x256xf32>
// CHECK: call @spacious(%[[X]], %[[OUT]], %[[SPACE]])
func.func private @spacious(%x: tensor<?x128xf32>, %out: tensor<?x128xf32> {tir.out, bufferization.writable = true}) -> tensor<?x128xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x128xf32>
  %m = arith.muli %n, %c2 : index
  %e = tensor.empty(%m) : tensor<?x256xf32>
  %0 = linalg.fill ins(%one : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  %part = tensor.extract_slice %0[0, 0] [%n, 128] [1, 1] : tensor<?x256xf32> to tensor<?x128xf32>
  %1 = linalg.add ins(%part, %x : tensor<?x128xf32>, tensor<?x128xf32>) outs(%out : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %1 : tensor<?x128xf32>
}
func.func @main(%x: tensor<?x128xf32>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x128xf32>
  %e = tensor.empty(%n) : tensor<?x128xf32>
  %0 = call @spacious(%x, %e) : (tensor<?x128xf32>, tensor<?x128xf32>) -> tensor<?x128xf32>
  return %0 : tensor<?x128xf32>
}

// -----

// Memory types: no encodings, booleans as bytes, unsigned as signless; casts between them vanish.
// CHECK-LABEL: func.func private @invert(%{{.*}}: memref<4xi8>, %{{.*}}: memref<4xi8> {tir.out})
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: memref<4xi8>) -> memref<4xi8> attributes {relax.signature = (tensor<4xui8>) -> tensor<4xi1>}
// CHECK-NOT: cast
func.func private @invert(%x: tensor<4xi8>, %out: tensor<4xi8> {tir.out, bufferization.writable = true}) -> tensor<4xi8> attributes {tir.prim_func} {
  %0 = linalg.copy ins(%x : tensor<4xi8>) outs(%out : tensor<4xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}
func.func @main(%x: tensor<4xui8>) -> tensor<4xi1> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xui8> to tensor<4xi8>
  %e = tensor.empty() : tensor<4xi8>
  %1 = call @invert(%0, %e) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %2 = builtin.unrealized_conversion_cast %1 : tensor<4xi8> to tensor<4xi1>
  return %2 : tensor<4xi1>
}

// -----

// A loop on a tensor that stands for the output writes there at once: its rows are no workspace, and nothing is copied.
// CHECK-LABEL: func.func private @rows(
// CHECK-SAME: %[[X:.*]]: memref<5xf32>, %[[OUT:.*]]: memref<5x40xf32> {tir.out}) attributes
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: %[[ROW:.*]] = memref.subview %[[OUT]][%{{.*}}, 0] [1, 40]
// CHECK: linalg.fill ins(%{{.*}}) outs(%[[ROW]]
// CHECK-NOT: memref.copy
// CHECK: return
func.func private @rows(%x: tensor<5xf32>, %out: tensor<5x40xf32> {tir.out, bufferization.writable = true}) -> tensor<5x40xf32>
    attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<5x40xf32>
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%rows = %e) -> (tensor<5x40xf32>) {
    %slice = tensor.extract_slice %rows[%i, 0] [1, 40] [1, 1] : tensor<5x40xf32> to tensor<40xf32>
    %value = tensor.extract %x[%i] : tensor<5xf32>
    %row = linalg.fill ins(%value : f32) outs(%slice : tensor<40xf32>) -> tensor<40xf32>
    %next = tensor.insert_slice %row into %rows[%i, 0] [1, 40] [1, 1] : tensor<40xf32> into tensor<5x40xf32>
    scf.yield %next : tensor<5x40xf32>
  }
  return %0 : tensor<5x40xf32>
}

// RUN: legato-opt %s --split-input-file --pass-pipeline=%{bufferize},tir-plan-memory --verify-diagnostics | filecheck %s
// RUN: legato-opt %s --split-input-file --pass-pipeline=%{bufferize},tir-plan-memory,tir-lower-packed --verify-diagnostics | filecheck %s --check-prefix=LOW

// What a packed function returns gives m. After the call: m's value, an arena for buffers as large, memory for the result.
// CHECK-LABEL: func.func @main(
// CHECK: %[[P:.*]] = call @pos(%{{.*}}, %{{.*}}) : (memref<?x4xf32>, index) -> memref<?x4xf32>
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[M:.*]] = memref.dim %[[P]], %[[C0]]
// CHECK: %[[ARENA:.*]] = call @legato.late_arena(%{{.*}}, %{{.*}}) : (index, index) -> memref<i8>
// CHECK: call @legato.late_result_0(%{{.*}}, %[[M]]
// CHECK: memref.view
// CHECK: call @k(%[[P]],
// CHECK-LABEL: func.func @main_sizes(%arg0: memref<1xindex>, %arg1: memref<1xindex>)

// LOW-LABEL: func.func @main(
// LOW-SAME: memref<1xi64> {tir.functions}, %{{.*}}: !llvm.ptr {tir.frame}) -> i32
// LOW-SAME: relax.late_symbols = ["m"], relax.packed_callers = [""], relax.packed_functions = ["t.pos"]
// LOW-SAME: relax.packed_results = {{\[}}["t.pos", tensor<?x4xf32, #relax.dims<["m", 4]>>, ""]]
// LOW: call @legato.late_arena
// LOW: cf.cond_br
// LOW: func.func private @pos(%arg0: memref<1xi64>, %arg1: !llvm.ptr, %arg2: index, %arg3: memref<?x4xf32>, %arg4: index) -> (i32, memref<?x4xf32>)
// LOW: call @legato.call_returning
func.func private @pos(tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relax.packed = "t.pos", relax.returns, relax.arguments = [unit, [#relax.dims<["n * 2"]>], "text"],
  relax.signature = (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["m", 4]>>}
func.func private @k(%a: tensor<?x4xf32>, %out: tensor<?x4xf32> {tir.out}) -> tensor<?x4xf32> attributes {tir.prim_func} {
  %0 = linalg.exp ins(%a : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
func.func @main(%x: tensor<?x4xf32> {relax.name = "x"}) -> tensor<?x4xf32> attributes {
    relax.signature = (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["m", 4]>>} {
  %c0 = arith.constant 0 : index
  %p = call @pos(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %m = tensor.dim %p, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %0 = call @k(%p, %e) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %e1 = tensor.empty(%m) : tensor<?x4xf32>
  %1 = call @k(%0, %e1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

// In destination-passing style: each argument is described, and a call that fails ends main with its code.
// LOW-LABEL: func.func @main(
// LOW: %[[CODE:.*]] = call @scale(%{{.*}}) : (memref<1xi64>, memref<4xf32>, memref<4xf32>) -> i32
// LOW: cf.cond_br %{{.*}}, ^bb1, ^bb2(%[[CODE]] : i32)
// LOW-LABEL: func.func private @scale
// LOW: call @legato.call_packed
func.func private @scale(tensor<4xf32>, tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {relax.packed = "t.scale"}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @scale(%x, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @pos(memref<4xf32>) -> memref<?xf32> attributes {relax.packed = "t.pos", relax.returns,
  relax.signature = (tensor<4xf32>) -> tensor<?xf32, #relax.dims<["m * k"]>>}
func.func @main(%x: memref<4xf32>) -> memref<4xf32> {
  // expected-error @below {{'t.pos' returns tensor<?xf32, #relax.dims<["m * k"]>>, whose size 'k * m' cannot be checked: it is an expression of sizes that the result gives itself}}
  %p = call @pos(%x) : (memref<4xf32>) -> memref<?xf32>
  return %x : memref<4xf32>
}

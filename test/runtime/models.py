"""Small modules as tir-bufferize leaves them, lowered from there by the target's own passes."""
import numpy as np

import legato
from legato.codegen.jit import jit
from legato.dialects.module import Module
from legato.targets.catalog import Catalog


def lowered(text, weights=(), target="llvm"):
    """The module in the LLVM dialect, with its entry."""
    module = Module.parse(text)
    for name, array in dict(weights).items():
        module.weights.add(name, array)
    stage = dict(Catalog().resolve(target).pipeline())["llvm"]
    legato.Pipeline(f"tir-plan-memory,tir-lower-packed,{stage}").run(module, legato.PassContext(resolve_target=Catalog().resolve))
    module.operation.verify()
    return module


def build(text, weights=(), target="llvm"):
    """An executable of the module's @main."""
    module = lowered(text, weights, target)
    return jit(module.module, module.weights, opt_level=0)


def elementwise(name, type_, body, inputs=1):
    """A kernel ``name(inputs..., out)`` on memrefs of one type; ``body`` computes %r of %0, %1, ..."""
    rank, element = type_.count("x"), type_.removeprefix("memref<").removesuffix(">").split("x")[-1]
    dims = ", ".join(f"d{i}" for i in range(rank))
    maps = ", ".join([f"affine_map<({dims}) -> ({dims})>"] * (inputs + 1))
    kinds = ", ".join(['"parallel"'] * rank)
    arguments = [f"%a{i}: {type_}" for i in range(inputs)]
    values = ", ".join(f"%{i}: {element}" for i in range(inputs))
    return f"""
func.func private @{name}({', '.join(arguments)}, %out: {type_} {{tir.out}}) attributes {{tir.prim_func}} {{
  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins({', '.join(f'%a{i}' for i in range(inputs))} : {', '.join([type_] * inputs)}) outs(%out : {type_}) {{
  ^bb0({values}, %o: {element}):
    {body}
    linalg.yield %r : {element}
  }}
  return
}}"""


ADD = elementwise("add", "memref<4x8xf32>", "%r = arith.addf %0, %1 : f32", 2)
ADD_N = elementwise("add", "memref<?x8xf32>", "%r = arith.addf %0, %1 : f32", 2)
DOUBLE_N = elementwise("double", "memref<?x8xf32>", "%r = arith.addf %0, %0 : f32")

# (x + w) + x
STATIC = ADD + """
func.func @main(%x: memref<4x8xf32> {relax.name = "x"}, %w: memref<4x8xf32> {relax.weight = "w"}) -> (memref<4x8xf32> {relax.name = "y"}) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  call @add(%x, %w, %0) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  %1 = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
  call @add(%0, %x, %1) : (memref<4x8xf32>, memref<4x8xf32>, memref<4x8xf32>) -> ()
  return %1 : memref<4x8xf32>
}"""

# (x + y) * 4 and x, with n rows
SYMBOLIC = ADD_N + DOUBLE_N + """
func.func @main(%x: memref<?x8xf32> {relax.name = "x"}, %y: memref<?x8xf32> {relax.name = "mask"})
    -> (memref<?x8xf32> {relax.name = "sum"}, memref<?x8xf32> {relax.name = "same"})
    attributes {relax.signature = (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<?x8xf32, #relax.dims<["n", 8]>>)
                               -> (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<?x8xf32, #relax.dims<["n", 8]>>)} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %0 = memref.alloc(%n) {alignment = 64 : i64} : memref<?x8xf32>
  call @add(%x, %y, %0) : (memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>) -> ()
  %1 = memref.alloc(%n) {alignment = 64 : i64} : memref<?x8xf32>
  call @double(%0, %1) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  %2 = memref.alloc(%n) {alignment = 64 : i64} : memref<?x8xf32>
  call @double(%1, %2) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return %2, %x : memref<?x8xf32>, memref<?x8xf32>
}"""


def identity(shape, element, signature):
    """A module that returns its input, of a memref type and the relax type that it was."""
    type_ = f"memref<{shape}{element}>"
    return f"""
func.func @main(%x: {type_} {{relax.name = "x"}}) -> {type_}
    attributes {{relax.signature = (tensor<{signature}>) -> tensor<{signature}>}} {{
  return %x : {type_}
}}"""


def numbers(*shape, dtype=np.float32):
    """0, 1, 2, ... in a shape."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)

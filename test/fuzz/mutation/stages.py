"""IR of all stages of some models and targets, and every pass for it."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache

import legato
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects import Module, make_context
from legato.passes.pipeline.registry import PASSES, load
from legato.patterns import is_op, wildcard
from legato.script import T
from mutation.case import shared

GRAPHS = {
    "layers": """
func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"})
    -> (tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "y"}) {
  %w = "relax.constant"() {value = dense<0.5> : tensor<8x4xf32>} : () -> tensor<8x4xf32>
  %b = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %0 = "relax.matmul"(%x, %w) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %1 = "relax.add"(%0, %b) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %2 = "relax.softmax"(%1) {axis = 1 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %2 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}""",
    "convolution": """
func.func @main(%x: tensor<1x3x6x6xf32> {relax.name = "x"}) -> tensor<1x4x4x4xf32> {
  %w = "relax.constant"() {value = dense<0.25> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %0 = "relax.conv2d"(%x, %w) : (tensor<1x3x6x6xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x4x4xf32>
  %1 = "relax.relu"(%0) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}""",
    "branches": """
func.func @main(%c: tensor<i1>, %x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xi64>) {
  %byte = builtin.unrealized_conversion_cast %c : tensor<i1> to tensor<i8>
  %element = tensor.extract %byte[] : tensor<i8>
  %zero = arith.constant 0 : i8
  %flag = arith.cmpi ne, %element, %zero : i8
  %0 = scf.if %flag -> (tensor<4xf16>) {
    %1 = "relax.exp"(%x) : (tensor<4xf16>) -> tensor<4xf16>
    scf.yield %1 : tensor<4xf16>
  } else {
    scf.yield %x : tensor<4xf16>
  }
  %2 = "relax.astype"(%0) {dtype = i64} : (tensor<4xf16>) -> tensor<4xi64>
  return %0, %2 : tensor<4xf16>, tensor<4xi64>
}""",
    "calls": """
func.func private @host(tensor<4xf32>) -> tensor<4xf32> attributes {relax.packed = "my.function"}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @host(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""",
}
TARGETS = ("llvm{cpu=x86-64-v3}", "llvm{cpu=x86-64-v4 threads=2}", "nvvm")


@T.prim_func
def rows(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n",), "float32")):
    for i in T.parallel(A.shape[0]):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + T.exp(A[vi, vj])


@T.prim_func
def kept_as_loops(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), "float32", scope="shared")
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        S[tx] = A[tx]
    for i in T.serial(8):
        B[i] = T.call_extern("float32", "sinf", S[7 - i])
        C[i] = T.if_then_else(A[i] > 0.0, S[i], B[i])


class Adds(legato.Backend):
    """A backend for additions and matrix products, whose code is never generated."""

    name = "adds"
    patterns = [("add", is_op("relax.add")(wildcard(), wildcard())), ("matmul", is_op("relax.matmul")(wildcard(), wildcard()))]


def sources(context: ir.Context) -> Iterator[tuple[str, Module]]:
    """The models, by name, in one context."""
    for name, text in GRAPHS.items():
        yield name, Module.parse(text, context=context)
    for kernel in (rows, kept_as_loops):
        yield kernel.__name__, Module.parse(str(kernel.module()), context=context)


@cache
def stages() -> dict[str, str]:
    """The IR of every stage as generic text, by model, target and stage."""
    return shared("stages", _stages)


def _stages() -> dict[str, str]:
    found, context = {}, make_context()
    for name, module in sources(context):
        found[name] = generic(module)
        for target in TARGETS:
            for stage in ("relax", "legalized", "fused", "scheduled", "bufferized", "outlined", "llvm", "nvvm"):
                if stage == "llvm" and target == TARGETS[1]:
                    continue  # as TARGETS[0]
                try:
                    found[f"{name} {target} {stage}"] = generic(legato.lower(module, target, last=stage))
                except LegatoError:
                    continue  # the target has no such stage, or the model cannot reach it
        parted = module.clone()
        legato.Pipeline(",".join(["relax-fuse-by-pattern{backend=adds}", "relax-merge-composites"]), backends=[Adds]).run(parted)
        found[f"{name} composites"] = generic(parted)
        legato.Pipeline("relax-outline-external").run(parted)
        found[f"{name} external"] = generic(parted)
    return found


def generic(module: Module) -> str:
    return module.module.operation.get_asm(print_generic_op_form=True)


@cache
def passes() -> list[str]:
    """Every registered pass, once for each target that its option may name."""
    found = []
    for name in PASSES:
        options = {f.name for f in fields(load(name))}
        if "target" in options:
            found += [f"{name}{{target={target}}}" for target in TARGETS]
        else:
            found.append(f"{name}{{backend=adds}}" if "backend" in options else name)
    return found

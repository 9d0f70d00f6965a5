"""The plain lowering of kernels: to scalar loops and C's math library, by nothing that knows of schedules, targets and memory plans.

It takes kernels of whatever form: loops of tir, structured ops on tensors or buffers, vectors, launches of a GPU (``launches``), partly
LLVM's dialect. Buffers that a kernel allocates begin with NaN (integers: bytes 0xAB).
"""
from __future__ import annotations

import numpy as np

from legato.checking.buffers import PATTERN, memory_dtype
from legato.checking.coroutines import make_coroutines
from legato.checking.launches import emulate_launches
from legato.checking.vectors import lower_vectors
from legato.core import fills
from legato.core.halves import has_halves
from legato.core.ir_helpers import everything, find, next_op
from legato.core.mlir import arith, ir
from legato.core.upstream import run_on
from legato.dialects.module import Module
from legato.dialects.tir.markers import SCHEDULE
from legato.passes.gpu.serialize_threads import SerializeThreads
from legato.passes.legalize.legalize_intrinsics import LegalizeIntrinsics
from legato.passes.legalize.lower_intrinsics import LowerIntrinsics
from legato.passes.loops.expand_float8 import ExpandFloat8
from legato.passes.loops.lower_loops import LowerLoops
from legato.passes.memory.bufferize.keep_partial_writes import keep_partial_writes
from legato.passes.pipeline.base import PassContext, TargetText

BUFFERIZE = "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map}"
LOOPS = "func.func(scf-forall-to-for,convert-linalg-to-loops,canonicalize,cse)"
HALVES = "func.func(arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},math-extend-to-supported-types)"
# C's functions first: those of LLVM's dialect make log(1 + x) of log1p
DOWN = ("arith-expand{include-bf16=true},convert-vector-to-scf{full-unroll=1},convert-scf-to-cf,expand-strided-metadata,lower-affine,"
        "canonicalize,convert-math-to-libm,convert-math-to-llvm,convert-vector-to-llvm,convert-to-llvm,convert-openmp-to-llvm,"
        "reconcile-unrealized-casts")
DROPPED = ("llvm.bareptr", "passthrough", SCHEDULE, "sym_visibility", "target_cpu", "target_features")  # ways to be called, or compiled


def prepare(module: Module, kernels: set[str]) -> None:
    """Makes kernels visible, with an interface for C, and drops what says how they are called and scheduled."""
    for function in module.functions():
        for name in DROPPED:
            if name in function.attributes and not function.is_external:
                del function.attributes[name]
        if function.name.value in kernels:
            function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        elif not function.is_external:
            function.attributes["sym_visibility"] = ir.StringAttr.get("private")


def lower(module: Module, context: PassContext, target: str) -> dict[str, tuple[tuple[np.dtype, int], ...]]:
    """Lowers a module of kernels to the LLVM dialect. Returns the memrefs that each returns, as (dtype, rank)."""
    operation = module.operation
    ExpandFloat8().run(module, PassContext(context.resolve_target))
    names = {op.name for op in everything(operation)}
    if any(name in names for name in ("tir.for", "tir.block", "tir.alloc_buffer")):
        SerializeThreads().run(module, PassContext(context.resolve_target))
        LowerLoops().run(module, PassContext(context.resolve_target))
    if any(isinstance(t, ir.RankedTensorType) for f in module.functions() for t in f.type.inputs):
        keep_partial_writes(operation)
        run_on(operation, BUFFERIZE)
    results = {f.name.value: tuple((memory_dtype(t.element_type), t.rank) for t in f.type.results if isinstance(t, ir.MemRefType))
               for f in module.functions()}
    coroutines = emulate_launches(module)
    copies_as_loops(module)
    run_on(operation, LOOPS)
    poison_allocations(module)
    lower_vectors(operation)
    if any(name.startswith("tir.") for name in {op.name for op in everything(operation)}):
        for one in (LegalizeIntrinsics(TargetText(target)), LowerIntrinsics(TargetText(target))):
            one.run(module, PassContext(context.resolve_target))
    if has_halves(operation):
        run_on(operation, HALVES)
    run_on(operation, f"func.func(convert-linalg-to-loops),{DOWN}")
    make_coroutines(module, coroutines)
    return results


def copies_as_loops(module: Module) -> None:
    """Makes copies structured ops: upstream lowers a copy between layouts to a call of a library that is not there."""
    for op in find(module.operation, "memref.copy"):
        with ir.InsertionPoint(op), op.location:
            fills.copy(op.operands[0], op.operands[1])
        op.erase()


def poison_allocations(module: Module) -> None:
    """Fills each buffer that a kernel allocates with what nobody should read."""
    for op in find(module.operation, "memref.alloc", "memref.alloca"):
        element = op.results[0].type.element_type
        if isinstance(element, ir.FloatType):
            attribute: ir.Attribute = ir.FloatAttr.get(element, float("nan"))
        elif isinstance(element, ir.IntegerType) and element.width >= 8:
            attribute = ir.IntegerAttr.get(element, int.from_bytes(bytes([PATTERN]) * (element.width // 8), "little", signed=True))
        else:
            continue
        with after(op), op.location:
            fills.fill(arith.ConstantOp(element, attribute).result, op.results[0])


def after(op: ir.Operation) -> ir.InsertionPoint:
    """The insertion point after an op that is not the last of its block."""
    return ir.InsertionPoint(next_op(op))

"""tir-lower-loops: lowers kernels of loops and blocks to scf, memref and vector.

Blocks are inlined, their axes replaced by the bound values; buffers are placed and sized; loops become scf loops of their kind, vectors,
or copies of their bodies. The signature keeps its tensors, through ``bufferization.to_buffer`` and ``to_tensor``.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.bounds import leaves_buffer
from legato.analysis.lanes import MOST_LANES
from legato.analysis.races import race
from legato.core.diagnostics import PassFailed
from legato.core.errors import LegatoError
from legato.core.ir_helpers import body, count, find, index, move_before, replace_uses, terminator
from legato.core.mlir import func, ir, scf
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import PARALLEL, THREAD, UNROLLED, VECTORIZED, ForOp, constant_of
from legato.dialects.tir.markers import LOADS_TOGETHER, RESIDENT_BLOCKS, STAGES
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.loops.blocks import inline_block
from legato.passes.loops.buffers import place_buffers
from legato.passes.loops.predicates import end_of
from legato.passes.loops.vectorize import NotVectorizable, vectorize
from legato.passes.pipeline.base import ModulePass, PassContext, option

MARKERS = {"pipeline_stages": STAGES, "loads_together": LOADS_TOGETHER, "resident_blocks": RESIDENT_BLOCKS}     # by annotations
MOST_COPIES = 1024
MOST_OPS = 100_000   # that the copies of a body are, with those of unrolled loops inside
MOST_LOOPS = 128     # that the copies of a body hold: LLVM's time grows with their square


class TooManyLoops(Exception):
    """A loop that is not unrolled, for the time that LLVM would take."""


@dataclass(frozen=True)
class LowerLoops(ModulePass):
    """Lowers tir.block, tir.for and tir.alloc_buffer to scf, memref and vector. PassFailed for loops bound to threads."""

    name: ClassVar[str] = "tir-lower-loops"
    lanes: int = option(MOST_LANES, "the most elements of a vector")
    limits: tuple[str, ...] = option((), "the most bytes that buffers of a scope take together in a kernel, as scope:bytes")

    def run(self, module: Module, context: PassContext) -> None:
        limits = dict(map(limit_of, self.limits))
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                lower_kernel(kernel, context.warnings, self.lanes, limits)


def limit_of(text: str) -> tuple[str, int]:
    """The scope and the bytes of ``scope:bytes``. LegatoError for another text."""
    scope, _, count = text.rpartition(":")
    if not scope or not count.isdecimal():
        raise LegatoError(f'tir-lower-loops: "{text}" is no limit of a scope: write scope:bytes, such as npu.scratchpad:262144')
    return scope, int(count)


def lower_kernel(kernel: func.FuncOp, warnings: list[str], lanes: int = MOST_LANES, limits: Mapping[str, int] | None = None) -> None:
    """Lowers one kernel in place."""
    operation = kernel.operation
    found = find(operation, "tir.for", "tir.block", "tir.alloc_buffer", *FIRST_INDEX)
    loops = [op for op in found if op.name == "tir.for"]
    for loop in loops:
        if (problem := race(loop.opview)) is not None:
            raise PassFailed(problem, loop)
    for access in found:
        if access.name in FIRST_INDEX and (problem := leaves_buffer(access)) is not None:
            raise PassFailed(problem, access)
    if any(op.name not in FIRST_INDEX for op in found):
        lower_nest(kernel, loops, warnings, lanes, limits)
    mark_inputs(kernel)


def lower_nest(kernel: func.FuncOp, loops: Sequence[ir.Operation], warnings: list[str], lanes: int,
               limits: Mapping[str, int] | None = None) -> None:
    """Lowers the loops, blocks and buffers of a kernel."""
    operation = kernel.operation
    for loop in loops:
        if loop.opview.kind == THREAD:
            raise PassFailed(f"the loop {loop.opview.name} is bound to {loop.opview.thread}: run tir-lower-threads first for a GPU, or "
                             "tir-serialize-threads for a CPU", loop)
    for block in find(operation, "tir.block", inner_first=True):
        inline_block(block.opview)
    place_buffers(operation, limits)
    lower_loops_under(operation, kernel.name.value, warnings, lanes)


def lower_loops_under(operation: ir.Operation, name: str, warnings: list[str], lanes: int) -> None:
    """Lowers the loops in an op of the kernel ``name``; blocks and buffers are lowered already. ``lanes``: the most of a vector."""
    for loop in find(operation, "tir.for", inner_first=True):
        try:
            lower_loop(loop.opview, lanes)
        except TooManyLoops as reason:
            warnings.append(f"the loop {loop.opview.name} of @{name} is not unrolled: {reason}")
            to_serial(loop.opview)
        except NotVectorizable as reason:
            warnings.append(f"the vectorized loop {loop.opview.name} of @{name} stays a loop of scalars: {reason}")
            to_serial(loop.opview)


def mark_inputs(kernel: func.FuncOp) -> None:
    """Marks the buffers of inputs as read-only. Not earlier: upstream's canonicalization would then read the tensor instead."""
    inputs = list(kernel.arguments)[: len(kernel.type.inputs) - tir.out_count(kernel)]
    for value in inputs:
        for use in value.uses:
            if use.owner.operation.name == "bufferization.to_buffer":
                use.owner.operation.attributes["read_only"] = ir.UnitAttr.get()


def lower_loop(loop: ForOp, lanes: int) -> None:
    """Lowers a loop without tir.for inside."""
    if loop.kind == VECTORIZED:
        vectorize(loop, lanes)
    elif loop.kind == UNROLLED:
        unroll(loop)
    elif loop.kind == PARALLEL:
        to_parallel(loop)
    else:
        to_serial(loop)


def unroll(loop: ForOp) -> None:
    """Replaces a loop by copies of its body. PassFailed for a dynamic extent, and beyond ``MOST_COPIES`` or ``MOST_OPS``; TooManyLoops
    beyond ``MOST_LOOPS``."""
    extent, lower = loop.extent, constant_of(loop.bounds[0])
    if extent is None or lower is None or extent > MOST_COPIES:
        raise PassFailed(f"the loop {loop.name} cannot be unrolled: its extent is {extent if extent else 'not known'}; "
                         f"at most {MOST_COPIES} copies are made of a body", loop.operation)
    ops = count(loop.operation) - 1
    if extent * ops > MOST_OPS:
        raise PassFailed(f"the loop {loop.name} cannot be unrolled: {extent:,} copies of its {ops:,} ops are {extent * ops:,}; "
                         f"{MOST_OPS:,} are the most", loop.operation)
    loops = extent * len(find(loop.operation, "scf.for", "scf.while", "scf.parallel"))
    if loops > MOST_LOOPS:
        raise TooManyLoops(f"the copies of its body would hold {loops:,} loops; {MOST_LOOPS} are the most")
    for step in range(lower, lower + extent):
        with ir.InsertionPoint(loop), loop.operation.location:
            variable = index(step)
            one = loop.operation.clone().opview     # natively; copy() visits each op of the body
        replace_uses(one.block, [variable])
        move_before(body(one.block), one.operation)
        one.operation.erase()
    loop.operation.erase()


def to_serial(loop: ForOp) -> None:
    """Makes the loop an scf.for."""
    upper = end_of(loop)
    with ir.InsertionPoint(loop), loop.operation.location:
        lower = loop.bounds[0]
        new = scf.ForOp(lower, upper, index(1))
        with ir.InsertionPoint(new.body):
            scf.YieldOp([])
    notes = loop.operation.attributes["annotations"] if "annotations" in loop.operation.attributes else {}
    for note, marker in MARKERS.items():
        if note in notes:
            new.operation.attributes[marker] = notes[note]
    take_body(loop, new.body)


def to_parallel(loop: ForOp) -> None:
    """Makes the loop an scf.parallel."""
    with ir.InsertionPoint(loop), loop.operation.location:
        segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])}
        new = ir.Operation.create("scf.parallel", [], [*loop.bounds, index(1)], segments, regions=1)
        into = new.regions[0].blocks.append(ir.IndexType.get())
        with ir.InsertionPoint(into):
            ir.Operation.create("scf.reduce")
    take_body(loop, into)


def take_body(loop: ForOp, into: ir.Block) -> None:
    """Moves a loop's body into a block and erases the loop."""
    replace_uses(loop.block, [into.arguments[0]])
    move_before(body(loop.block), terminator(into))
    loop.operation.erase()

"""tir-prefetch-epilogues: what the epilogue of a register tile reads is fetched before the tile's reduction.

A residual that is added to a product is as large as the result, and lies beyond the second-level cache when the tile reads it: some rows of
a few cache lines each, which the hardware does not see coming. The reduction takes longer than they do, and does not depend on them.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from legato.core.cpu_table import LINE
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import body, find
from legato.core.mlir import ir, memref
from legato.core.vector_loops import plus, value_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.next_blocks import may_be_cold
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class PrefetchEpilogues(ModulePass):
    """Adds memref.prefetch in front of reductions in vectors, for what is read behind them from large arguments of the kernel that the
    reduction does not read.

    Large: more than stays in the inner caches between two kernels, or of unknown size. Lines are fetched into the second-level cache, since
    the reduction itself goes through more than the first level holds.
    """

    name: ClassVar[str] = "tir-prefetch-epilogues"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                fetched: set[ir.Value] = set()      # in front of the first of several reductions
                for loop in find(kernel.operation, "scf.for") if not kernel.is_external else ():
                    for read in list(_epilogue(loop)):
                        if read.results[0] not in fetched:
                            _prefetch(read, loop)
                            fetched.add(read.results[0])


def _epilogue(loop: ir.Operation) -> Iterator[ir.Operation]:
    """The reads behind a reduction in its block whose lines are known in front of it."""
    if not any(isinstance(result.type, ir.VectorType) for result in loop.results):
        return
    read = {op.operands[0] for op in find(loop, "vector.transfer_read")}
    for op in body(loop.block):
        if op.name == "vector.transfer_read" and loop.is_before_in_block(op) and op.operands[0] not in read:
            if _is_large(op.operands[0]) and _neighbours(op) and all(_hoist(value, loop) for value in _buffer_and_places(op)):
                yield op


def _buffer_and_places(read: ir.Operation) -> list[ir.Value]:
    """The buffer of a read, and its indices."""
    return list(read.operands)[:1 + read.operands[0].type.rank]


def _is_large(buffer: ir.Value) -> bool:
    """Whether a buffer is, or is a part of, an argument that may lie beyond the inner caches."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.name == "memref.subview":
        buffer = buffer.owner.operands[0]
    return isinstance(buffer.owner, ir.Block) and may_be_cold(buffer)


def _neighbours(read: ir.Operation) -> bool:
    """Whether the elements of a row of the vector are neighbours in memory."""
    rank, shape = read.operands[0].type.rank, list(read.results[0].type.shape)
    if not shape:
        return False
    strides, _ = ir.MemRefType(read.operands[0].type).get_strides_and_offset()
    return read.attributes["permutation_map"].value == ir.AffineMap.get_minor_identity(rank, len(shape)) and strides[-1] == 1


def _hoist(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value that an op behind the loop takes is defined in front of it, where index arithmetic moves to, if it can."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.block != loop.block or value.owner.operation.is_before_in_block(loop):
        return True
    made = value.owner.operation
    if made.name != "affine.apply" or not all(_hoist(operand, loop) for operand in made.operands):
        return False
    made.move_before(loop)
    return True


def _prefetch(read: ir.Operation, loop: ir.Operation) -> None:
    """Fetches the lines that ``read`` takes, in front of the loop."""
    buffer, *places = _buffer_and_places(read)
    *rows, width = read.results[0].type.shape
    outer, inner = places[:len(places) - len(rows) - 1], places[len(places) - len(rows) - 1:]
    with ir.InsertionPoint(loop), read.location:
        for row in product(*map(range, rows)):
            for first in range(0, width, LINE // element_bytes(buffer.type.element_type)):
                memref.PrefetchOp(buffer, [*outer, *(value_of(plus(at, step)) for at, step in zip(inner, [*row, first]))], False, 2, True)

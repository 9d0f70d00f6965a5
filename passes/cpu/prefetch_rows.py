"""tir-prefetch-rows: register tiles fetch the rows that the next tile reads, while they compute.

For each block of columns, a product goes through all its rows, or those of a block of rows. Where these are more than the caches of a core
hold, each tile begins with rows from beyond them. The hardware's prefetching starts anew in each row and ends at each page of 4 KB.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.cpu_table import LINE
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import ancestors, body, find
from legato.core.mlir import ir, memref
from legato.core.vector_loops import plus, times, value_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.passes.cpu.loop_steps import depends, step_count
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import EXACT, Rounding

FAR = 4     # times a core's second cache: what all rows take, from which on fetches pay; products of fewer measured alike, or slower


@dataclass(frozen=True)
class PrefetchRows(ModulePass):
    """Adds memref.prefetch to the steps of products in vectors, for rows of an argument of the kernel, if those that a block of columns
    is computed from are several times as large as the second cache.

    A tile of m whole rows, which follow each other in memory, is followed by the next m. Each step over an element of all rows fetches as
    many elements of these, rounded up to a power of two. Behind the last row that does no harm.
    """

    name: ClassVar[str] = "tir-prefetch-rows"
    rounding: ClassVar[Rounding] = EXACT
    target: TargetText = option("llvm", "the target whose caches rows are compared with")

    def run(self, module: Module, context: PassContext) -> None:
        far = FAR * context.cpu(self.target).l2_bytes
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for loop in find(kernel.operation, "scf.for") if not kernel.is_external else ():
                    for read in list(_rows(loop, far)):
                        _prefetch(read, loop)


def _variable(loop: ir.Operation) -> ir.Value:
    return loop.regions[0].blocks[0].arguments[0]


def _rows(loop: ir.Operation, far: int) -> Iterator[ir.Operation]:
    """The reads of a column of several whole rows in the steps of a contraction that goes through rows of ``far`` bytes or more."""
    ops = body(loop.regions[0].blocks[0])
    if all(op.name != "vector.contract" for op in ops):
        return
    lower, upper, step = map(constant_of, list(loop.operands)[:3])
    for op in ops:
        if op.name == "vector.transfer_read" and isinstance((buffer := op.operands[0]).owner, ir.Block) and buffer.type.has_static_shape:
            tile, length = list(op.results[0].type.shape), buffer.type.shape[-1]
            whole = (lower, upper, step) == (0, length, 1) and op.operands[buffer.type.rank] == _variable(loop)
            if whole and len(tile) == 2 and tile[0] > 1 and tile[1] == 1:
                if _rows_between(loop, op) * length * element_bytes(buffer.type.element_type) >= far:
                    yield op


def _rows_between(loop: ir.Operation, read: ir.Operation) -> int:
    """The rows that are read until a row is read again: those of the loops around ``loop`` up to one that goes through no rows. All rows,
    if a number of steps is not known."""
    rank = read.operands[0].type.rank
    *outer, _ = list(read.operands[0].type.shape)
    rows, places = read.results[0].type.shape[0], list(read.operands)[1:rank]
    for around in ancestors(loop):
        if around.name == "func.func" or not any(depends(place, around) for place in places):
            break
        steps = step_count(around) if around.name == "scf.for" else None
        if steps is None:
            return prod(outer)
        rows *= steps
    return rows


def _prefetch(read: ir.Operation, loop: ir.Operation) -> None:
    """Fetches a part of the next rows at the beginning of each step."""
    buffer, rows = read.operands[0], read.results[0].type.shape[0]
    *outer, row, column = list(read.operands)[1:1 + buffer.type.rank]
    part = 1 << (rows - 1).bit_length()
    with ir.InsertionPoint.at_block_begin(loop.regions[0].blocks[0]), read.location:
        for first in range(0, part, LINE // element_bytes(buffer.type.element_type)):
            at = value_of(plus(times(column, part), first))
            memref.PrefetchOp(buffer, [*outer, value_of(plus(row, rows)), at], False, 2, True)

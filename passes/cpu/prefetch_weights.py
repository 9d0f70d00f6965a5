"""tir-prefetch-weights: the loops of contractions fetch the part of the weight that they read next while they compute.

Inside a model, weights come from memory: between two calls of a kernel the others have filled the caches. The hardware's own prefetching
ends at each page of 4 KB, which a step of a packed weight of 32 columns of f32 goes through in 32 steps. What is fetched a few steps ahead
crosses from the second-level cache in time, but not from memory: that takes as long as a hundred steps. So the next block of columns is
fetched into the second-level cache meanwhile, in equal parts by all tiles of rows that go through the block at hand.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from legato.core.cpu_table import LINE
from legato.core.dtypes import element_bytes
from legato.core.ir_helpers import ancestors, body, find, index, present
from legato.core.mlir import arith, ir, memref
from legato.core.vector_loops import Size, plus, times
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.loop_steps import depends, step_count
from legato.passes.cpu.next_blocks import fetch_part, flattened, is_cold
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

STEPS = 16              # of the reduction, between a fetch and the use; 16 to 48 measured alike
WIDEST = 512            # bytes that a step reads: more, as matrices are, fetched so far ahead would fill the first-level cache


@dataclass(frozen=True)
class PrefetchWeights(ModulePass):
    """Adds memref.prefetch to the reductions of contractions, for large weights that are arguments of the kernel.

    It fetches what is read 16 steps later, unless a step reads whole matrices, and, where several tiles of rows read one block of columns
    of the weight, the next block, unless the loop fetches that already. Behind the weight's end that does no harm.
    """

    name: ClassVar[str] = "tir-prefetch-weights"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in tir.prim_funcs(module.module):
                for loop in _contraction_loops(kernel.operation):
                    fetches = any(op.name == "memref.prefetch" for op in body(loop.regions[0].blocks[0]))
                    for read in list(_weights(loop)):
                        if _variable(loop) in _places(read) and _step_bytes(read) <= WIDEST:
                            _prefetch(read, loop)
                        if not fetches and (block := next_block(read, loop)) is not None:
                            _prefetch_block(read, loop, block)


def _contraction_loops(kernel: ir.Operation) -> list[ir.Operation]:
    """The loops whose steps are those of a contraction."""
    around = dict.fromkeys(contract.parent.operation for contract in find(kernel, "vector.contract"))
    return [op for op in around if op.name == "scf.for"]


def _weights(loop: ir.Operation) -> Iterator[ir.Operation]:
    """The reads of large weights in the steps of a contraction."""
    for op in body(loop.regions[0].blocks[0]):
        if op.name == "vector.transfer_read" and isinstance(op.operands[0].owner, ir.Block):
            if is_cold(op.operands[0]) and _steps_through(op, loop):
                yield op


def _steps_through(read: ir.Operation, loop: ir.Operation) -> bool:
    """Whether each step of the loop reads whole cache lines of another place."""
    if _step_bytes(read) < LINE:
        return False
    return any(depends(place, loop) for place in _places(read)[:-1])


def _places(read: ir.Operation) -> list[ir.Value]:
    """The indices of a read."""
    return list(read.operands)[1:1 + read.operands[0].type.rank]


def _variable(loop: ir.Operation) -> ir.Value:
    return loop.regions[0].blocks[0].arguments[0]


def _width(read: ir.Operation) -> int:
    """The neighbouring elements that a read takes: several axes of groups of narrow elements, where it takes these whole."""
    wanted, stored = list(read.results[0].type.shape), list(read.operands[0].type.shape)
    width = 1
    while wanted:
        width *= wanted[-1]
        if wanted.pop() != stored.pop():
            break
    return width


def _step_bytes(read: ir.Operation) -> int:
    return _width(read) * element_bytes(read.operands[0].type.element_type)


def _in_front(read: ir.Operation, loop: ir.Operation) -> ir.InsertionPoint:
    """The beginning of the loop's body, where the read's indices are known there. LLVM moves no load across a fetch: elements of the other
    operand that are read in front of one would all be in registers at once, and the accumulators in memory."""
    block = loop.regions[0].blocks[0]
    known = all(isinstance(value.owner, ir.Block) or value.owner.operation.block != block for value in read.operands)
    return ir.InsertionPoint.at_block_begin(block) if known else ir.InsertionPoint(read)


def _prefetch(read: ir.Operation, loop: ir.Operation) -> None:
    """Fetches the lines that ``read`` reads some steps later."""
    buffer, variable = read.operands[0], _variable(loop)
    size = element_bytes(buffer.type.element_type)
    width = _width(read)
    with _in_front(read, loop), read.location:
        later = arith.addi(variable, index(STEPS))
        *outer, last = [later if value == variable else value for value in _places(read)]
        for first in range(0, width, LINE // size):
            memref.PrefetchOp(buffer, [*outer, arith.addi(last, index(first)) if first else last], False, 3, True)


@dataclass(frozen=True)
class RowTiles:
    """The loops over tiles of rows around a reduction that reads a block of columns of a weight, outermost first, with their numbers of
    steps; and the outermost loop that is for this block alone."""

    loops: list[tuple[ir.Operation, int]]
    outermost: ir.Operation

    @property
    def tiles(self) -> int:
        """The number of tiles of rows."""
        return prod(count for _, count in self.loops)


@dataclass(frozen=True)
class NextBlock:
    """The block of columns of a weight behind the one that a loop reads. ``rows``: of the loop; ``before``: tiles of rows that read the
    block before those, and ``tiles``: all that do."""

    rows: RowTiles
    before: int
    tiles: int


def next_block(read: ir.Operation, loop: ir.Operation) -> NextBlock | None:
    """The block behind the one of ``read``; None where fewer than two tiles of rows, or a number that is not constant, read a block, and
    where the weight is not packed in blocks. Rows that are no whole tile have a reduction of their own."""
    weight, block = list(read.operands)[:2]
    if depends(block, loop) or (own := _row_loops(read, loop)) is None:
        return None
    tiles, before, seen = 0, 0, list[ir.Operation]()
    for around in body(own.outermost.block):
        for other in find(around, "vector.transfer_read"):
            reduction = present(other.parent).operation
            if list(other.operands)[:2] != [weight, block] or reduction in seen:
                continue
            seen.append(reduction)
            if (rows := _row_loops(other, reduction)) is None:
                return None
            if reduction == loop:
                before = tiles
            tiles += rows.tiles
    return NextBlock(own, before, tiles) if tiles > 1 else None


def _row_loops(read: ir.Operation, loop: ir.Operation) -> RowTiles | None:
    """The loops around the reduction ``loop`` that read its block again, for other rows; None if their steps are not known."""
    block, *places = _places(read)
    rows, outermost = list[tuple[ir.Operation, int]](), loop
    for around in ancestors(loop):
        if around.name != "scf.for" or depends(block, around):
            break
        if not any(depends(place, around) for place in places):
            steps = step_count(around)
            if steps is None:
                return None
            rows.insert(0, (around, steps))
        outermost = around
    return RowTiles(rows, outermost)


def _prefetch_block(read: ir.Operation, loop: ir.Operation, block: NextBlock) -> None:
    """Fetches, in each step of the reduction, a few bytes of the next block into the second-level cache."""
    shape, width = list(read.operands[0].type.shape), _width(read)
    first, *places = _places(read)
    elements = prod(shape[1:])
    with _in_front(read, loop), read.location:
        tile: Size = 0
        for around, count in block.rows.loops:
            lower, _, step = list(around.operands)[:3]
            tile = plus(times(tile, count), arith.divui(arith.subi(_variable(around), lower), step))
        number = times(plus(tile, block.before), elements // width)
        for axis, place in enumerate(places, 1):
            if (stride := prod(shape[axis + 1:]) // width):
                number = plus(number, times(place, stride))
        fetch_part(flattened(read.operands[0]), times(plus(first, 1), elements), number, width, block.tiles)

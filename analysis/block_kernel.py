"""A kernel as blocks under loops, as default schedules of GPUs read it: what each block reads and writes, by which axes, and who reads it.

The blocks are those that ``schedule.unraise`` makes of structured ops: each stands alone in a perfect nest, one loop for each axis.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

from legato.analysis.accesses import ElementAccess, accesses_in
from legato.analysis.indices.forms import linear
from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.ops import COMBINERS
from legato.core.ir_helpers import body, everything
from legato.core.mlir import func, ir
from legato.dialects.tir.loops import REDUCE, BlockOp, constant_of
from legato.dialects.tir.walk import blocks


class KernelBlock:
    """One block of a kernel. Axes are numbered as in the block; the loop number n around it is that of axis n. Compared by identity."""

    def __init__(self, block: BlockOp):
        self.block, self.name = block, block.name
        self.kinds, self.extents = list(block.kinds), list(block.extents)

    @property
    def rank(self) -> int:
        """The number of axes, and of loops around the block."""
        return len(self.kinds)

    @cached_property
    def spatial(self) -> list[int]:
        """The axes whose values write different elements."""
        return [n for n, kind in enumerate(self.kinds) if kind != REDUCE]

    @cached_property
    def reduced(self) -> list[int]:
        """The axes that are reduced."""
        return [n for n, kind in enumerate(self.kinds) if kind == REDUCE]

    @cached_property
    def accesses(self) -> list[ElementAccess]:
        """The loads and stores of the body, without those of the init."""
        return accesses_in([self.block.block])

    @cached_property
    def loads(self) -> list[ElementAccess]:
        """The loads of the body from buffers that the block does not write."""
        return [a for a in self.accesses if not a.writes and a.buffer not in self.written]

    @cached_property
    def stores(self) -> list[ElementAccess]:
        """The stores of the body."""
        return [a for a in self.accesses if a.writes]

    @cached_property
    def written(self) -> list[ir.Value]:
        """The buffers that the block writes."""
        return list(dict.fromkeys(a.buffer for a in self.accesses if a.writes))

    @cached_property
    def read(self) -> list[ir.Value]:
        """The buffers that the block only reads, in order of first use: ``cache_read`` takes their numbers in this list."""
        return list(dict.fromkeys(a.buffer for a in self.loads))

    def axis_of(self, index: ir.Value) -> int | None:
        """The axis that an index of an access is; None for another value."""
        arguments = list(self.block.block.arguments)
        return arguments.index(index) if index in arguments else None

    def axes_of(self, access: ElementAccess) -> list[int | None]:
        """The axis that each index of an access is."""
        return [self.axis_of(index) for index in access.indices]

    def moving_axes_of(self, access: ElementAccess) -> list[int | None]:
        """The axis along which each index of an access moves step by step, from whatever constant on."""
        moving = [list(linear(index).terms.items()) for index in access.indices]
        return [self.axis_of(terms[0][0]) if len(terms) == 1 and terms[0][1] == 1 else None for terms in moving]

    def depends(self, value: ir.Value, axes: Sequence[int]) -> bool:
        """Whether a value in the body is computed from one of these axes."""
        wanted = {self.block.block.arguments[axis] for axis in axes}
        seen, todo = {value}, [value]
        while todo:
            one = todo.pop()
            if one in wanted:
                return True
            new = [] if isinstance(one.owner, ir.Block) else [v for v in one.owner.operation.operands if v not in seen]
            seen.update(new)
            todo += new
        return False

    @cached_property
    def ops(self) -> list[ir.Operation]:
        """All ops of the body."""
        return [one for op in body(self.block.block) for one in everything(op)]

    @cached_property
    def writes_axes(self) -> list[int] | None:
        """The axis that each index of the only store is, where these are distinct; else None."""
        if len(self.stores) != 1:
            return None
        found = [axis for axis in self.axes_of(self.stores[0]) if axis is not None]
        return found if len(set(found)) == len(self.stores[0].indices) else None

    @cached_property
    def combines(self) -> bool:
        """Whether the block only combines what it has written with another value, by an associative op: its steps can be split."""
        if len(self.stores) != 1 or not self.reduced or self.block.init_block is None:
            return False
        owner = self.stores[0].op.operands[0].owner
        if isinstance(owner, ir.Block) or owner.operation.name not in COMBINERS:
            return False
        before = [v.owner.operation for v in owner.operation.operands if not isinstance(v.owner, ir.Block)]
        mine = [op for op in before if op.name == "memref.load" and op.operands[0] in self.written]
        same = all(linear(a) == linear(b) for load in mine for a, b in zip(list(load.operands)[1:], self.stores[0].indices))
        return len(mine) == 1 and same and len(list(mine[0].results[0].uses)) == 1

    def points(self, axes: Sequence[int]) -> int | None:
        """The number of steps over these axes; None where it is not known."""
        extents = [self.extents[axis] for axis in axes]
        known = [e for e in extents if e is not None]
        return prod(known) if len(known) == len(extents) else None


class BlockKernel(StructuredKernel):
    """The classification of a kernel with its blocks. ``function``: the kernel of structured ops; ``lowered``: its copy in loops."""

    def __init__(self, function: func.FuncOp, lowered: func.FuncOp):
        super().__init__(function)
        self.lowered = lowered
        self.blocks = [KernelBlock(block) for block in blocks(lowered.operation)]

    def is_own(self, buffer: ir.Value) -> bool:
        """Whether a buffer is made by the kernel, and no parameter."""
        return not isinstance(buffer.owner, ir.Block) and buffer.owner.operation.name == "tir.alloc_buffer"

    def writers(self, buffer: ir.Value) -> list[KernelBlock]:
        """The blocks that write a buffer."""
        return [b for b in self.blocks if buffer in b.written]

    def readers_of(self, block: KernelBlock) -> list[KernelBlock]:
        """The other blocks that read what a block writes."""
        return [b for b in self.blocks if b is not block and any(buffer in block.written for buffer in b.read)]

    @property
    def is_plain(self) -> bool:
        """Whether each block stands alone in its loops, which begin at 0, one for each axis in order, and nothing else has an effect."""
        return all(self._alone(block) for block in self.blocks) and len(self.blocks) == sum(
            op.operation.name in ("tir.for", "tir.block") for op in self.lowered.body.blocks[0].operations)

    def _alone(self, block: KernelBlock) -> bool:
        op = block.block.operation
        for value in reversed(list(block.block.values)):
            loop = op.parent.operation
            if loop.name != "tir.for" or value != loop.opview.variable or constant_of(loop.operands[0]) != 0:
                return False
            op = loop
        return op.parent.operation == self.lowered.operation

"""Primitives of two steps, which copy what one step of a loop reads or writes: read_at, write_at."""
from collections.abc import Callable

from legato.core.mlir import ir
from legato.dialects.tir.loops import BlockOp, ForOp
from legato.dialects.tir.walk import blocks, loops
from legato.schedule.block_primitives import compute_at, reverse_compute_at, under
from legato.schedule.buffer_primitives import cache_read, cache_write
from legato.schedule.state import Kernel, ScheduleError

Composite = Callable[[Kernel, BlockOp, ForOp], BlockOp]


def read_at(kernel: Kernel, block: BlockOp, loop: ForOp, at: int | str, scope: str) -> BlockOp:
    """Makes the block read a copy of what it reads of a buffer in one step of a loop around it, made in that step. Returns the block that
    copies."""
    def both(kernel: Kernel, block: BlockOp, loop: ForOp) -> BlockOp:
        made = cache_read(kernel, [block], at, scope)
        compute_at(kernel, made, loop)
        return made

    return whole(kernel, block, loop, both, "read_at")


def write_at(kernel: Kernel, block: BlockOp, loop: ForOp, at: int | str, scope: str) -> BlockOp:
    """Makes the block write a new buffer, of which each step of a loop around the block copies what it has written. Returns the block that
    copies."""
    def both(kernel: Kernel, block: BlockOp, loop: ForOp) -> BlockOp:
        made = cache_write(kernel, block, at, scope)
        reverse_compute_at(kernel, made, loop)
        return made

    return whole(kernel, block, loop, both, "write_at")


def whole(kernel: Kernel, block: BlockOp, loop: ForOp, both: Composite, what: str) -> BlockOp:
    """Does both steps, or none: they are tried on a copy of the kernel, because the second one may be refused."""
    if not under(block.operation, loop):
        raise ScheduleError(f"{what}: block '{block.name}' is not under the loop {loop.name}")
    function = kernel.function.operation
    number, place = ([one.operation for one in found].index(op.operation) for found, op in (
        (blocks(function), block), (loops(function), loop)))
    with ir.InsertionPoint(function):
        trial = function.clone()
    try:
        both(Kernel(trial.opview), blocks(trial)[number], loops(trial)[place])
    except ScheduleError as error:
        raise ScheduleError(f"{what}: {error}") from error
    finally:
        trial.erase()
    return both(kernel, block, loop)

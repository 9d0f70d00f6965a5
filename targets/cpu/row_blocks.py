"""Blocks of rows of a contraction: what one reads and writes stays in the second cache of a core while all columns are computed.

A product goes through the columns of its weight, panel by panel, and reads all rows for each: from memory, or a slow third cache, where
they do not fit.
"""
from collections.abc import Sequence
from math import prod

from legato.analysis.structured import ContractionForm
from legato.analysis.structured.ops import bits_of
from legato.core.mlir import ir
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.register_tiles import RegisterTiles

SHARE = 2    # of the cache, its inverse; panels of the weight, and what is fetched ahead, take the rest
COLD = 8     # times as long to read a weight, which comes from memory, as rows, which a kernel before has written
OUTER = 4    # likewise a weight that the last cache, of which other cores take a share, too, holds after the first block


def row_block(form: ContractionForm, machine: Machine, tiles: RegisterTiles) -> tuple[int, int, int | None] | None:
    """The loop over rows to split, the steps of a block, and those that are left after whole blocks: None where only the call knows them.
    None where all rows fit, or where the weight, which each block reads, is larger than what this saves. Beside a weight that fits, too,
    the results of a block have to fit: written where they stay in the cache, they keep the rows there."""
    loops = [loop for loop in form.rows if form.extents[loop] != 1]
    if not loops or form.strides.get(loops[0], 1) > 1:
        return None
    loop, *inner = loops
    if any(form.extents[one] is None for one in (*inner, *form.columns, *form.reductions)):
        return None
    operand, weight = form.op.operands[1 - form.weight], form.op.operands[form.weight]
    share = machine.l2_bytes // SHARE
    steps, columns = form.extents[loop], _extent(form, form.columns)
    read = _extent(form, inner) * _extent(form, [one for one in form.reductions if one not in form.filters]) * _bytes(operand)
    written = _extent(form, inner) * columns * form.bits // 8
    weight_bytes = _extent(form, (*form.columns, *form.reductions)) * _bytes(weight)
    fits = weight_bytes <= share
    most, unit = share // (read + written * fits), tiles.rows[0] if loop == form.row else 1
    panels = -(-columns // tiles.columns[0])
    if panels < 2 or most < unit or (steps is not None and steps <= most):
        return None
    most -= most % unit
    size = most if steps is None else _even(steps, most, unit)
    rows, blocks = (size, 1) if steps is None else (steps, -(-steps // size))
    slower = OUTER if weight_bytes <= machine.l3_bytes // SHARE else COLD
    saved, again = read * rows * (panels - 1), weight_bytes * blocks * slower
    rest = 0 if size == 1 else None if steps is None else steps % size
    return (loop, size, rest) if fits or again < saved else None


def _even(steps: int, most: int, unit: int) -> int:
    """The size of blocks of at most so many steps: one that leaves no rest, if there is one that is not much smaller; else one that leaves
    about as many as a block, since the rest reads the whole weight, too."""
    dividing = next((size for size in range(most, most // 2, -unit) if steps % size == 0), None)
    if dividing is not None:
        return dividing
    count = -(-steps // most)
    return min(most, -(-steps // (count * unit)) * unit)


def _extent(form: ContractionForm, loops: Sequence[int]) -> int:
    return prod(form.extents[loop] or 1 for loop in loops)


def _bytes(value: ir.Value) -> int:
    return max(8, bits_of(value.type.element_type)) // 8

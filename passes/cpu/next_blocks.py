"""Blocks of a packed weight that are fetched into the second-level cache while the one before is read."""
from math import prod

from legato.core.cpu_table import COLD, LINE
from legato.core.dtypes import element_bytes
from legato.core.mlir import ir, memref
from legato.core.vector_loops import Size, loop, plus, times, value_of

FEW = 4     # lines, whose fetches are written out


def is_cold(weight: ir.Value) -> bool:
    """Whether a weight of known shape leaves the inner caches between two calls of its kernel."""
    return weight.type.has_static_shape and may_be_cold(weight)


def may_be_cold(value: ir.Value) -> bool:
    """Whether a tensor or buffer is large enough, or may be, to leave the inner caches between two kernels."""
    type_ = value.type
    return not type_.has_static_shape or prod(type_.shape) * element_bytes(type_.element_type) >= COLD


def flattened(weight: ir.Value) -> ir.Value:
    """A view of all elements in one dimension."""
    type_ = ir.MemRefType.get([prod(weight.type.shape)], weight.type.element_type)
    return memref.CollapseShapeOp(type_, weight, [[*range(weight.type.rank)]]).result


def fetch_part(flat: ir.Value, start: Size, step: Size, width: int, tiles: int) -> None:
    """Fetches a part of the block whose first element is ``start``, at the insertion point, which a loop over the steps of the block at
    hand passes, for each of ``tiles`` tiles: all of them fetch all. Behind the weight's end that does no harm.

    ``step``: the number of this step among those of all tiles; ``width``: elements of one."""
    line = LINE // element_bytes(flat.type.element_type)
    least = -(-width // tiles)
    part = -(-least // line) * line if least > line else 1 << (least - 1).bit_length()     # of a step: lines, or a part that divides one
    at = plus(start, times(step, part))

    def fetch(first: Size) -> None:
        memref.PrefetchOp(flat, [value_of(plus(at, first))], False, 2, True)

    if part <= FEW * line:
        for first in range(0, part, line):
            fetch(first)
    else:
        loop(0, part, line, fetch)

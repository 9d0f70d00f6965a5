"""LRN in one pass: the channels of a window are operands of one loop nest, without a padded copy and without sums in memory."""
from functools import reduce
from itertools import groupby
from typing import Any

from legato.core.mlir import arith, ir
from legato.targets.builders.pointwise import element, read
from legato.targets.builders.sizes import dims
from legato.targets.builders.structured import collapse, elementwise, expand, inserted, window
from legato.targets.generic.normalization import rescaled
from legato.targets.rule import kernel

WIDEST = 16    # channels of a window: as many loop nests, each of which reads as many rows at once


def has_rows_of_channels(op: Any) -> bool | str:
    """Whether there are dimensions behind the channels, whose number is known, and windows are not too wide."""
    type_, width = op.input_types[0], op.attrs["size"]
    axis = op.attrs["axis"] % type_.rank
    if width > WIDEST:
        return f"a window has {width} channels, more than {WIDEST}"
    if axis == type_.rank - 1:
        return "no dimension is behind the channels"
    return not type_.is_dynamic_dim(axis) or "the number of channels is not known"


@kernel("relax.lrn", when=has_rows_of_channels)
def by_channel(k, x, out):
    """Channels whose windows reach equally far are one loop nest, which reads each channel of its windows. The dimensions behind the
    channels are one, along which there are vectors: rows of an image may be shorter than these."""
    k.writes_all()
    axis = k.attrs["axis"] % x.type.rank
    joined = [*([i] for i in range(axis + 1)), list(range(axis + 1, x.type.rank))]
    result = _rows(k, collapse(x, joined), collapse(out, joined), axis)
    return expand(result, joined, dims(out))


def _rows(k, x: ir.Value, out: ir.Value, axis: int) -> ir.Value:
    kind, sizes, channels = element(k.input_types[0]), dims(x), x.type.shape[axis]
    before = (k.attrs["size"] - 1) // 2
    after = k.attrs["size"] - 1 - before

    def reach(channel: int) -> tuple[int, int]:
        return max(-before, -channel), min(after, channels - 1 - channel)

    def body(x: ir.Value, *window: ir.Value) -> ir.Value:
        values = [read(value, kind) for value in window]
        return rescaled(k, x, reduce(arith.addf, [arith.mulf(value, value) for value in values]), out.type.element_type)

    for (low, high), equal in groupby(range(channels), reach):
        first, *others = equal
        part = [1 + len(others) if i == axis else size for i, size in enumerate(sizes)]

        def rows(channel: int) -> list[int]:
            return [channel if i == axis else 0 for i in range(len(sizes))]

        operands = [window(x, rows(first + tap), part) for tap in (0, *range(low, high + 1))]
        out = inserted(elementwise(window(out, rows(first), part), operands, body), out, rows(first))
    return out


RULES = by_channel

"""cumsum and cumprod along an axis with few elements after it: row by row, so that memory is read in order."""
from collections.abc import Sequence
from math import prod
from typing import Any

from legato.core.mlir import ir, scf
from legato.targets.builders.sizes import dims, index
from legato.targets.generic.cumulative import along_axis
from legato.targets.rule import kernel

LINE = 16   # elements after the axis from which on a step along it uses whole cache lines


def few_behind_axis(op: Any) -> bool | str:
    """Whether few elements lie after the axis, and there are dimensions before it."""
    type_ = op.input_types[0]
    axis = op.attrs["axis"] % type_.rank if type_.rank else 0
    behind = list(type_.shape)[axis + 1:]
    if not axis:
        return "no dimension is before the axis"
    return (min(behind, default=0) >= 0 and prod(behind) < LINE) or f"there may be {LINE} elements after the axis, or more"


@kernel("relax.cumsum", "relax.cumprod", when=few_behind_axis)
def by_row(k, x, out):
    """Loops over the dimensions before the axis around the loop along it."""
    k.writes_all()
    return _rows(k, x, out, [])


def _rows(k, x: ir.Value, out: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
    """Loops over the dimensions after ``at``, up to the axis. Returns the new ``out``."""
    axis = k.attrs["axis"] % x.type.rank
    if len(at) == axis:
        return along_axis(k, x, out, axis, at)
    loop = scf.ForOp(index(0), index(dims(x)[len(at)]), index(1), [out])
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([_rows(k, x, loop.inner_iter_args[0], [*at, loop.induction_variable])])
    return loop.results[0]


RULES = by_row

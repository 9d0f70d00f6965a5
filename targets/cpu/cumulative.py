"""cumsum and cumprod along an axis that is not the first: row by row, so that memory is read in order, and running totals stay near."""
from collections.abc import Sequence
from typing import Any

from legato.core.mlir import ir, scf
from legato.targets.builders.sizes import dims, index
from legato.targets.builders.structured import collapse, expand
from legato.targets.generic.cumulative import along_axis
from legato.targets.rule import kernel


def has_rows(op: Any) -> bool | str:
    """Whether there are dimensions before the axis."""
    type_ = op.input_types[0]
    return bool(type_.rank and op.attrs["axis"] % type_.rank) or "no dimension is before the axis"


@kernel("relax.cumsum", "relax.cumprod", when=has_rows)
def by_row(k, x, out):
    """Loops over the dimensions before the axis around the loop along it. What lies behind the axis is one dimension."""
    k.writes_all()
    rank = x.type.rank
    axis = k.attrs["axis"] % rank
    groups = [*([i] for i in range(axis + 1)), *([[*range(axis + 1, rank)]] if axis + 1 < rank else [])]
    return expand(_rows(k, collapse(x, groups), collapse(out, groups), axis, []), groups, dims(out))


def _rows(k, x: ir.Value, out: ir.Value, axis: int, at: Sequence[ir.Value]) -> ir.Value:
    """Loops over the dimensions after ``at``, up to the axis. Returns the new ``out``."""
    if len(at) == axis:
        return along_axis(k, x, out, axis, at)
    loop = scf.ForOp(index(0), index(dims(x)[len(at)]), index(1), [out])
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([_rows(k, x, loop.inner_iter_args[0], axis, [*at, loop.induction_variable])])
    return loop.results[0]


RULES = by_row

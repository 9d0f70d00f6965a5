"""cumsum and cumprod along an axis that is not the first: row by row, so that memory is read in order, and running totals stay near."""
from typing import Any

from legato.core.mlir import ir, scf
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims, index
from legato.targets.builders.structured import compute, empty, inserted, window
from legato.targets.generic.cumulative import along_axis, joined
from legato.targets.rule import kernel


def has_rows(op: Any) -> bool | str:
    """Whether there are dimensions before the axis."""
    type_ = op.input_types[0]
    return bool(type_.rank and op.attrs["axis"] % type_.rank) or "no dimension is before the axis"


@kernel("relax.cumsum", "relax.cumprod", when=has_rows)
def by_row(k, x, out):
    """A loop over what is before the axis around the loop along it."""
    return joined(k, x, out, _rows)


def _rows(k, x: ir.Value, out: ir.Value, axis: int) -> ir.Value:
    """The loops of matrices, or of slices of them. Returns the new ``out``."""
    loop = scf.ForOp(index(0), index(dims(x)[0]), index(1), [out])
    step = _widened if x.type.rank == 2 and element(x.type).wide.type != x.type.element_type else _row
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([step(k, x, loop.inner_iter_args[0], axis, loop.induction_variable)])
    return loop.results[0]


def _row(k, x: ir.Value, out: ir.Value, axis: int, row: ir.Value) -> ir.Value:
    return along_axis(k, x, out, axis, [row])


def _widened(k, x: ir.Value, out: ir.Value, axis: int, row: ir.Value) -> ir.Value:
    """A row of halves that follow each other in memory: converted as vectors, before and after, where each alone takes as long as several
    sums."""
    kind, sizes = element(x.type), [1, dims(x)[1]]
    whole, wide = [row, 0], kind.wide
    here = compute(empty(sizes, wide.type), "i, j", [(window(x, whole, sizes), "i, j")], lambda value, _: kind.cast(value, wide))
    sums = along_axis(k, here, empty(sizes, wide.type), axis, [index(0)])
    there = compute(window(out, whole, sizes), "i, j", [(sums, "i, j")], lambda value, _: wide.cast(value, kind))
    return inserted(there, out, whole)


RULES = by_row

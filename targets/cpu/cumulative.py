"""cumsum and cumprod along an axis that is not the first: row by row, so that memory is read in order, and running totals stay near."""
from typing import Any

from legato.core.mlir import ir, scf
from legato.targets.builders.sizes import dims, index
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
    with ir.InsertionPoint(loop.body):
        scf.YieldOp([along_axis(k, x, loop.inner_iter_args[0], axis, [loop.induction_variable])])
    return loop.results[0]


RULES = by_row

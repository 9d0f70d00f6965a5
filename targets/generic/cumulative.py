"""cumsum and cumprod: a sequential loop along the axis around a parallel loop nest over the others."""
from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, scf
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dims, index
from legato.targets.builders.structured import collapse, compute, empty, expand, filled, inserted, names, window
from legato.targets.rule import kernel


@kernel("relax.cumsum", "relax.cumprod")
def cumulative(k, x, out):
    """The loop carries the running totals, in f32 for f16 and bf16."""
    return joined(k, x, out, along_axis)


def joined(k, x: ir.Value, out: ir.Value, make: Callable[..., ir.Value]) -> ir.Value:
    """What ``make(k, x, out, axis)`` computes of tensors in which all dimensions before the axis are one, and all behind it."""
    k.writes_all()
    rank = x.type.rank
    axis = k.attrs["axis"] % rank
    groups = [group for group in ([*range(axis)], [axis], [*range(axis + 1, rank)]) if group]
    return expand(make(k, collapse(x, groups), collapse(out, groups), min(axis, 1)), groups, dims(out))


def along_axis(k, x: ir.Value, out: ir.Value, axis: int, at: Sequence[ir.Value] = ()) -> ir.Value:
    """The loop along the axis; ``at``: where it is in the first dimensions, if there are loops over those around it. Returns the new
    ``out``."""
    kind = element(x.type)
    reverse, exclusive, e = k.attrs["reverse"], k.attrs["exclusive"], kind.wide
    combine, neutral = (e.add, 0) if k.name == "relax.cumsum" else (e.mul, 1)
    sizes = dims(x)
    length, slab = index(sizes[axis]), [1 if i == axis or i < len(at) else s for i, s in enumerate(sizes)]
    offsets = [*at, *[0] * (x.type.rank - len(at))]
    loops = ", ".join(names(x.type.rank))

    def body(x: ir.Value, total: ir.Value, _):
        new = combine(total, kind.cast(x, e))
        return [new, e.cast(total if exclusive else new, kind)]

    start = filled(empty(slab, e.type), e.const(neutral))
    loop = scf.ForOp(index(0), length, index(1), [start, out])
    with ir.InsertionPoint(loop.body):
        total, result = loop.inner_iter_args
        step = loop.induction_variable
        offsets[axis] = arith.subi(arith.subi(length, index(1)), step) if reverse else step
        total, here = compute([total, window(result, offsets, slab)], loops, [(window(x, offsets, slab), loops)], body)
        scf.YieldOp([total, inserted(here, result, offsets)])
    return loop.results[1]


RULES = cumulative

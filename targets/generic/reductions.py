"""Reductions over axes: sum, mean, prod, max, min."""
from collections.abc import Sequence

from legato.core.mlir import ir
from legato.targets.builders.element import Element, index
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import dim, dims, product
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import Body, elementwise, empty, reduce
from legato.targets.rule import kernel


def axes_of(axis: Sequence[int] | int | None, rank: int) -> list[int]:
    """A reduction's axes, counted from 0; None means all."""
    if axis is None:
        return list(range(rank))
    return sorted({a % rank for a in ([axis] if isinstance(axis, int) else axis)})


def count(x: ir.Value, axes: Sequence[int], e: Element) -> ir.Value:
    """The number of elements along the axes, as a scalar of ``e``."""
    size = product([dim(x, a) for a in axes])
    if isinstance(size, int):
        return e.const(size)
    integer = Element(ir.IntegerType.get_signless(64))
    return integer.cast(index().cast(index_value(size), integer), e)


def reduced(k, x: ir.Value, out: ir.Value, axes: Sequence[int], initial: float | int, combine: Body, finish: Body | None = None,
            e: Element | None = None) -> ir.Value:
    """``x`` reduced over axes into ``out``, accumulated in ``e``: by default the element of x, or f32 for f16 and bf16.

    ``combine(e, x, accumulator)`` returns the next accumulator; ``finish(e, x)`` is applied to the final one.
    """
    kind, result = element(k.input_types[0]), element(k.output_types[0])
    if kind.is_bool:  # use memory's type for the accumulator, too
        kind = result = Element(ir.IntegerType.get_unsigned(x.type.element_type.width))
    e = e or kind.wide
    direct = finish is None and out.type.element_type == e.type
    target = out if direct else empty(dims(out), e.type)
    sums = reduce(target, [x], axes, e.const(initial), lambda x, acc: combine(e, kind.cast(x, e), acc))
    if direct:
        return sums
    return elementwise(out, [sums], lambda s: e.cast(finish(e, s) if finish else s, result))


_COMBINE = {"relax.sum": Element.add, "relax.prod": Element.mul, "relax.max": Element.max, "relax.min": Element.min}


@kernel(*_COMBINE)
def reduction(k, x, out):
    """sum, prod, max and min."""
    kind = element(k.input_types[0])
    initial = {"relax.sum": 0, "relax.prod": 1, "relax.max": kind.lowest, "relax.min": kind.highest}[k.name]
    operation = _COMBINE[k.name]
    return reduced(k, x, out, axes_of(k.attrs["axis"], x.type.rank), initial, operation)


@kernel("relax.mean")
def mean(k, x, out):
    """The sum divided by the count; integers are summed in 64 bits, and the quotient is truncated."""
    axes, kind = axes_of(k.attrs["axis"], x.type.rank), element(k.input_types[0])
    wide = ir.IntegerType.get_unsigned if kind.is_unsigned else ir.IntegerType.get_signless
    e = kind.wide if kind.is_float else Element(wide(64))
    number = count(x, axes, e)
    return reduced(k, x, out, axes, 0, Element.add, lambda e, total: e.div(total, number), e)


RULES = (*reduction, mean)

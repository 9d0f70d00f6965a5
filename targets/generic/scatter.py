"""Writing by index: a copy of the tensor, then sequential updates, since several may have the same target."""
from collections.abc import Callable, Sequence

from legato.core.mlir import arith, ir, scf, tensor
from legato.targets.builders.element import Element
from legato.targets.builders.pointwise import element
from legato.targets.builders.sizes import Size, dim, dims
from legato.targets.builders.sizes import index as index_value
from legato.targets.builders.structured import copy, extract, filled, splat
from legato.targets.generic.indexing import place
from legato.targets.rule import kernel


def loop_nest(sizes: Sequence[Size], initial: ir.Value, body: Callable[[list[ir.Value], ir.Value], ir.Value]) -> ir.Value:
    """Sequential loops; ``body(indices, value)`` returns the next value."""
    def nest(indices: list[ir.Value], value: ir.Value) -> ir.Value:
        if len(indices) == len(sizes):
            return body(indices, value)
        loop = scf.ForOp(index_value(0), index_value(sizes[len(indices)]), index_value(1), [value])
        with ir.InsertionPoint(loop.body):
            scf.YieldOp([nest([*indices, loop.induction_variable], loop.inner_iter_args[0])])
        return loop.results[0]

    return nest([], initial)


_COMBINE = {"add": Element.add, "mul": Element.mul, "max": Element.max, "min": Element.min}
_OF_BOOLEANS = {"add": arith.ori, "mul": arith.andi, "max": arith.ori, "min": arith.andi}


def started(x: ir.Value, out: ir.Value) -> ir.Value:
    """The output with the tensor's contents, which it may have already. Equal elements are a fill: a copy of a constant folds to it, and
    loops that begin with a constant need memory of their own beside the output's."""
    if x == out:
        return out
    element_ = splat(x)
    return copy(x, out) if element_ is None else filled(out, arith.ConstantOp(out.type.element_type, element_).result)


def combined(k, old: ir.Value, update: ir.Value) -> ir.Value:
    """An element with an update, by the op's reduction; the update itself without one."""
    kind, reduction = element(k.input_types[0]), k.attrs["reduction"]
    if reduction == "none":
        return update
    if kind.is_bool:
        return _OF_BOOLEANS[reduction](old, update)
    e = kind.wide
    return e.cast(_COMBINE[reduction](e, kind.cast(old, e), kind.cast(update, e)), kind)


def _written(k, result: ir.Value, update: ir.Value, places: Sequence[ir.Value]) -> ir.Value:
    """``result`` with one element replaced by the update, or combined with it."""
    if k.attrs["reduction"] != "none":
        update = combined(k, extract(result, places), update)
    return tensor.InsertOp(update, result, list(places)).result


@kernel("relax.scatter_elements")
def scatter_elements(k, x, indices, updates, out):
    """Updates at their own position, except for the index along the axis."""
    axis, kind = k.attrs["axis"] % x.type.rank, element(k.input_types[1])
    size = dim(x, axis)

    def body(here: list[ir.Value], result: ir.Value) -> ir.Value:
        places = list(here)
        places[axis] = place(extract(indices, here), kind, size)
        return _written(k, result, extract(updates, here), places)

    return loop_nest(dims(indices), started(x, out), body)


@kernel("relax.scatter_nd")
def scatter_nd(k, x, indices, updates, out):
    """Updates at tuples of indices, each read once for its slice."""
    kind, rows, depth = element(k.input_types[1]), indices.type.rank - 1, indices.type.shape[-1]
    sizes = [dim(x, t) for t in range(depth)]

    def body(here: list[ir.Value], result: ir.Value) -> ir.Value:
        named = [place(extract(indices, [*here, index_value(t)]), kind, sizes[t]) for t in range(depth)]
        return loop_nest(dims(updates)[rows:], result, lambda inner, value: _written(
            k, value, extract(updates, [*here, *inner]), [*named, *inner]))

    return loop_nest(dims(updates)[:rows], started(x, out), body)


RULES = (scatter_elements, scatter_nd)

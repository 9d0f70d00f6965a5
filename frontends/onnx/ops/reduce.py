"""Reductions, and what runs along an axis."""
from collections.abc import Callable

import numpy as np

from ....dialects import relax
from ....dialects.dtypes import kind
from ..entry import Entry, op
from ..problems import Refused

# The version of each reduction from which its axes are an input.
_AXES_INPUT = {"ReduceSum": 13}
_AXES_INPUT_OTHERS = 18


def reduced_axes(node) -> list[int] | None:
    """The axes to reduce, from the attribute or the input, counted from the front; None if nothing is to be reduced."""
    rank = node.rank()
    if node.version < _AXES_INPUT.get(node.op_type, _AXES_INPUT_OTHERS):
        axes = node.integers("axes", [])
        nothing = False
    else:
        axes = node.ints(1, "axes") if node.given(1) else []
        nothing = node.flag("noop_with_empty_axes")
    if not axes:
        return None if nothing else list(range(rank))
    return sorted(node.axes(axes, rank))


def _reduction(
    op_type: str, versions: tuple[int, ...], build: Callable, alone: Callable | None = None, fold: Callable | None = None
) -> Entry:
    """``build(x, axis, keepdims)`` reduces; ``alone(x)`` is what happens to each element where no axis is reduced."""

    def entry(node):
        axes, keepdims = reduced_axes(node), node.flag("keepdims", True)
        x = node.x()
        if axes is None:
            return alone(x) if alone else x
        return build(x, axes, keepdims)

    def folded(node, array, _axes=None):
        axes, keepdims = reduced_axes(node), node.flag("keepdims", True)
        if array.dtype == object and op_type not in ("ReduceSum", "ReduceProd"):
            return None
        if axes is None:
            return None if alone else array
        result = fold(array, axis=tuple(axes), keepdims=keepdims)
        return np.asarray(result, array.dtype)

    return Entry(op_type, versions, entry, folded if fold else None)


def _log_sum_exp(x, axis, keepdims):
    """By way of the maximum, so that nothing overflows; an infinite one would make NaN of the difference."""
    peak = relax.max(x, axis=axis, keepdims=True)
    peak = relax.where(relax.isfinite(peak), peak, relax.constant(np.zeros((), relax.TensorType.of(x.type).dtype)))
    total = relax.log(relax.sum(relax.exp(relax.subtract(x, peak)), axis=axis, keepdims=True))
    result = relax.add(total, peak)
    return result if keepdims else relax.squeeze(result, axis=axis)


def _sum(x, axis, keepdims):
    return relax.sum(x, axis=axis, keepdims=keepdims)


_V = (1, 11, 13, 18)
_REDUCTIONS = (
    _reduction("ReduceSum", (1, 11, 13), _sum, fold=np.sum),
    _reduction("ReduceMean", _V, lambda x, axis, keepdims: relax.mean(x, axis=axis, keepdims=keepdims)),
    _reduction("ReduceProd", _V, lambda x, axis, keepdims: relax.prod(x, axis=axis, keepdims=keepdims), fold=np.prod),
    _reduction("ReduceMax", (1, 11, 12, 13, 18, 20), lambda x, axis, keepdims: relax.max(x, axis=axis, keepdims=keepdims), fold=np.max),
    _reduction("ReduceMin", (1, 11, 12, 13, 18, 20), lambda x, axis, keepdims: relax.min(x, axis=axis, keepdims=keepdims), fold=np.min),
    _reduction("ReduceL1", _V, lambda x, axis, keepdims: _sum(relax.abs(x), axis, keepdims), relax.abs),
    _reduction("ReduceL2", _V, lambda x, axis, keepdims: relax.sqrt(_sum(relax.square(x), axis, keepdims)), relax.abs),
    _reduction("ReduceSumSquare", _V, lambda x, axis, keepdims: _sum(relax.square(x), axis, keepdims), relax.square),
    _reduction("ReduceLogSum", (*_V, 28), lambda x, axis, keepdims: relax.log(_sum(x, axis, keepdims)), relax.log),
    _reduction("ReduceLogSumExp", (*_V, 28), _log_sum_exp),
)


def _arg(op_type: str, builder: str) -> Entry:
    def build(node):
        axis = node.axis(node.integer("axis", 0), node.rank())
        last = node.flag("select_last_index")
        return getattr(relax, builder)(node.x(), axis=axis, keepdims=node.flag("keepdims", True), select_last=last)

    return Entry(op_type, (1, 11, 12, 13), build)


@op("CumSum", 11, 14)
def cumsum(node):
    axis = node.axis(int(node.scalar(1, "the axis")), node.rank())
    return relax.cumsum(node.x(), axis=axis, exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))


@op("LpNormalization", 1, 22)
def lp_normalization(node):
    axis, p = node.axis(node.integer("axis", -1), node.rank()), node.integer("p", 2)
    if p not in (1, 2):
        raise Refused(f"p = {p} is not supported, only 1 and 2")
    x = node.x()
    norm = _sum(relax.abs(x), [axis], True) if p == 1 else relax.sqrt(_sum(relax.square(x), [axis], True))
    if kind(node.dtype()) != "float":
        raise Refused(f"a normalization of {node.dtype()} is not supported")
    # where all of an axis is 0 the norm is, and the result is 0
    zero, one = node.literal(0, node.dtype()), node.literal(1, node.dtype())
    return relax.divide(x, relax.where(relax.equal(norm, zero), one, norm))


ENTRIES = (*_REDUCTIONS, _arg("ArgMax", "argmax"), _arg("ArgMin", "argmin"), cumsum, lp_normalization)

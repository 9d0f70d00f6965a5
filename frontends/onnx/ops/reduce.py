"""Reductions, arg-reductions, running sums and top-k."""
from collections.abc import Callable

import numpy as np

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import Entry, op
from legato.frontends.onnx.ops.halves import in_32_bits
from legato.frontends.onnx.problems import Refused, Undecided

# The version from which a reduction's axes are an input.
_AXES_INPUT = {"ReduceSum": 13}
_AXES_INPUT_OTHERS = 18
_F64 = np.dtype(np.float64)


def reduced_axes(node) -> list[int] | None:
    """The axes to reduce, from the attribute or the input, counted from the front; None if nothing is to be reduced."""
    rank = node.rank()
    if node.version < _AXES_INPUT.get(node.op_type, _AXES_INPUT_OTHERS):
        axes = node.integers("axes", [])
        nothing = False
    else:
        axes = [] if not node.given(1) or node.dims(1) == (0,) else node.ints(1, "axes")
        node.ignore_input(1)
        nothing = node.flag("noop_with_empty_axes")
    if not axes:
        return None if nothing else list(range(rank))
    return sorted(node.axes(axes, rank))


def keeps_axes(node) -> bool:
    """Whether axes that are reduced stay, with a size of 1: by ``keepdims`` of 1 alone, for ONNX's shape inference and onnxruntime."""
    return node.integer("keepdims", 1) == 1


def _reduction(
    op_type: str, versions: tuple[int, ...], build: Callable, alone: Callable | None = None, fold: Callable | None = None
) -> Entry:
    """The entry of a reduction. ``build(x, axis, keepdims)`` reduces; ``alone(x)`` is applied to each element if no axis is reduced."""

    def entry(node):
        if node.version >= _AXES_INPUT.get(node.op_type, _AXES_INPUT_OTHERS) and node.by_data(1) and node.dims(1) != (0,):
            return reduced_at_run_time(node, build, alone)
        axes, keepdims = reduced_axes(node), keeps_axes(node)
        x = node.x()
        if axes is None:
            return alone(x) if alone else x
        return build(x, axes, keepdims)

    return Entry(op_type, versions, entry, fold and _folding(fold))


def reduced_at_run_time(node, build: Callable, alone: Callable | None):
    """A reduction over axes that are data: each axis becomes two, of which one has its size and the other 1; the second is reduced. How
    many axes there are may be data, too, where they stay."""
    x, rank, keepdims = node.x(), node.rank(), keeps_axes(node)
    axes = run_time.integers(node, 1, "axes", any_length=keepdims)
    count, none_is_none = relax.TensorType.of(axes.type).dims[0], node.flag("noop_with_empty_axes")
    if not rank:
        return (alone(x) if alone else x) if none_is_none else build(x, [], keepdims)
    flags, valid = run_time.marked(axes, rank)
    if not isinstance(count, int) and not none_is_none:
        flags = relax.logical_or(flags, relax.equal(run_time.vector(node, [count]), run_time.literal(0)))
    sizes, ones = run_time.vector(node, node.dims()), run_time.literal([1] * rank)
    kept, gone = relax.where(flags, ones, sizes), relax.where(flags, sizes, ones)
    both = run_time.symbols(node, run_time.valid_or_negative(run_time.joined(kept, gone), valid), "axis")
    pairs = [size for pair in zip(both[:rank], both[rank:]) for size in pair]
    result = build(relax.reshape(x, shape=pairs), list(range(1, 2 * rank, 2)), False)
    if keepdims:
        return result
    left = rank - run_time.count(axes)
    if left <= 0:
        return relax.reshape(result, shape=[])
    others = run_time.chosen(sizes, relax.logical_not(flags), left)
    return relax.reshape(result, shape=run_time.symbols(node, others, "size"))


def _folding(function: Callable) -> Callable:
    """A fold by numpy's reduction, in the element type of its input (numpy would widen booleans)."""

    def fold(node, array, _axes=None):
        axes, keepdims = reduced_axes(node), keeps_axes(node)
        return array if axes is None else np.asarray(function(array, axis=tuple(axes), keepdims=keepdims), array.dtype)

    return fold


def _of_numbers(function: Callable) -> Callable:
    """The reduction, Undecided for symbolic sizes."""

    def reduce(array, **options):
        if array.dtype == object:
            raise Undecided("which size is the greatest depends on the symbols")
        return function(array, **options)

    return reduce


def _by_floats(reduce: Callable, function: Callable) -> Callable:
    """``function(reduce(x, axis, keepdims))``, of integers in f64 and as an integer again; of f16 and bf16 in f32."""

    def of_integers(x, axis, keepdims):
        return relax.astype(function(relax.astype(reduce(x, axis, keepdims), dtype=_F64)), dtype=relax.TensorType.of(x.type).dtype)

    of_floats = in_32_bits(lambda x, axis, keepdims: function(reduce(x, axis, keepdims)))
    return lambda x, axis, keepdims: (of_floats if _is_float(x) else of_integers)(x, axis, keepdims)


def _log(x):
    """The logarithm of each element; of integers in f64, and as an integer again."""
    return relax.log(x) if _is_float(x) else relax.astype(relax.log(relax.astype(x, dtype=_F64)), dtype=relax.TensorType.of(x.type).dtype)


def _is_float(x) -> bool:
    return kind(relax.TensorType.of(x.type).dtype) == "float"


def _log_sum_exp_of_any(x, axis, keepdims):
    if _is_float(x):
        return _log_sum_exp(x, axis, keepdims)
    return relax.astype(_log_sum_exp(relax.astype(x, dtype=_F64), axis, keepdims), dtype=relax.TensorType.of(x.type).dtype)


@in_32_bits
def _log_sum_exp(x, axis, keepdims):
    """Subtracts the maximum, so that nothing overflows; an infinite maximum is replaced by 0, since the difference would be NaN."""
    peak = relax.max(x, axis=axis, keepdims=True)
    peak = relax.where(relax.isfinite(peak), peak, relax.constant(np.zeros((), relax.TensorType.of(x.type).dtype)))
    total = relax.log(relax.sum(relax.exp(relax.subtract(x, peak)), axis=axis, keepdims=True))
    result = relax.add(total, peak)
    return result if keepdims else relax.squeeze(result, axis=axis)


def _by(builder: str) -> Callable:
    """A reduction by the relax op of that name."""
    return lambda x, axis, keepdims: getattr(relax, builder)(x, axis=axis, keepdims=keepdims)


_sum = _by("sum")


def _sum_of_squares(x, axis, keepdims):
    return _sum(relax.square(x), axis, keepdims)

_V = (1, 11, 13, 18)
_REDUCTIONS = (
    _reduction("ReduceSum", (1, 11, 13), _sum, fold=np.sum),
    _reduction("ReduceMean", _V, _by("mean")),
    _reduction("ReduceProd", _V, _by("prod"), fold=np.prod),
    _reduction("ReduceMax", (1, 11, 12, 13, 18, 20), _by("max"), fold=_of_numbers(np.max)),
    _reduction("ReduceMin", (1, 11, 12, 13, 18, 20), _by("min"), fold=_of_numbers(np.min)),
    _reduction("ReduceL1", _V, lambda x, axis, keepdims: _sum(relax.abs(x), axis, keepdims), relax.abs),
    _reduction("ReduceL2", _V, _by_floats(_sum_of_squares, relax.sqrt), relax.abs),
    _reduction("ReduceSumSquare", _V, _sum_of_squares, relax.square),
    _reduction("ReduceLogSum", (*_V, 28), _by_floats(_sum, relax.log), _log),
    _reduction("ReduceLogSumExp", (*_V, 28), _log_sum_exp_of_any),
)


def _arg(op_type: str, builder: str) -> Entry:
    def build(node):
        axis = node.axis(node.integer("axis", 0), node.rank())
        last = node.flag("select_last_index")
        return getattr(relax, builder)(node.x(), axis=axis, keepdims=keeps_axes(node), select_last=last)

    return Entry(op_type, (1, 11, 12, 13), build)


def _running(op_type: str, versions: tuple[int, ...], builder: str) -> Entry:
    def build(node):
        if node.by_data(1):     # the axes before and behind it as one each
            parts = relax.reshape(node.x(), shape=run_time.around_axis(node, 1, "axis"))
            result = getattr(relax, builder)(parts, axis=1, exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))
            return relax.reshape(result, shape=list(node.dims()))
        axis = node.axis(int(node.scalar(1, "the axis")), node.rank())
        return getattr(relax, builder)(node.x(), axis=axis, exclusive=node.flag("exclusive"), reverse=node.flag("reverse"))

    return Entry(op_type, versions, build)


@op("TopK", 1, 10, 11, 24)
def top_k(node):
    """TopK. The elements are always sorted, so ``sorted`` is ignored."""
    axis = node.axis(node.integer("axis", -1), node.rank())
    if node.version >= 10 and node.by_data(1):
        count = run_time.a_symbol(node, 1, "k")
    else:
        count = node.integer("k") if node.version < 10 else node.size(1, "k")
    largest = node.flag("largest", True) if node.version >= 11 else True
    node.ignore("sorted")
    places = relax.topk(node.x(), k=count, axis=axis, largest=largest)
    return relax.gather_elements(node.x(), places, axis=axis), places


@op("LpNormalization", 1, 22)
def lp_normalization(node):
    """LpNormalization along an axis, for p = 1 and 2."""
    axis, p = node.axis(node.integer("axis", -1), node.rank()), node.integer("p", 2)
    if p not in (1, 2):
        raise Refused(f"p = {p} is not supported, only 1 and 2")
    if kind(node.dtype()) != "float":
        raise Refused(f"a normalization of {node.dtype()} is not supported")

    def normalized(x):
        dtype = relax.TensorType.of(x.type).dtype
        norm = _sum(relax.abs(x), [axis], True) if p == 1 else relax.sqrt(_sum(relax.square(x), [axis], True))
        # where the whole axis is 0 the norm is 0; the result is 0 then
        return relax.divide(x, relax.where(relax.equal(norm, node.literal(0, dtype)), node.literal(1, dtype), norm))

    return in_32_bits(normalized)(node.x())


ENTRIES = (*_REDUCTIONS, _arg("ArgMax", "argmax"), _arg("ArgMin", "argmin"), _running("CumSum", (11, 14), "cumsum"),
           _running("CumProd", (26,), "cumprod"), top_k, lp_normalization)

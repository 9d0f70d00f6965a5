"""Growth by reductions, normalizations and orders."""
import ml_dtypes
import numpy as np
from graph_builder import F16, F32, F64, I32, I64, Graph, Value, is_float, weighted

REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
              "ReduceSumSquare")


def reduce(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 0 and not v.empty())
    if value:
        axes = g.rng.sample(range(-value.rank, 0), g.rng.randint(1, value.rank))
        given = [] if g.rng.random() < 0.15 else [g.ints(*axes)]
        op = g.rng.choice(REDUCTIONS)
        if op != "ReduceProd" or all(_multiplies_in_any_order(array, value.dtype) for array in value.arrays):
            g.add(op, [value, *given], value.dtype, keepdims=g.rng.randint(0, 1))


def _multiplies_in_any_order(array: np.ndarray, dtype: np.dtype) -> bool:
    """Whether no product of some elements overflows: another order than the reference's may multiply those first."""
    return float(np.log2(np.abs(array).clip(min=1)).sum()) < float(np.log2(float(ml_dtypes.finfo(dtype).max)))


def reduce_integers(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype in (I32, I64) and v.rank > 0 and not v.empty())
    if value:
        axes = g.ints(g.rng.randrange(value.rank))
        g.add(g.rng.choice(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")), [value, axes], value.dtype, keepdims=g.rng.randint(0, 1))


def argument(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and not v.empty() and v.dtype in (F16, F32, F64, I32))
    if value:
        g.add(g.rng.choice(("ArgMax", "ArgMin")), [value], I64, axis=g.rng.randrange(-value.rank, value.rank),
              keepdims=g.rng.randint(0, 1), select_last_index=g.rng.randint(0, 1))


def top(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 0 and not v.empty() and v.dtype in (F32, F64))
    if value:
        axis = g.rng.randrange(value.rank)
        count = g.ints(g.rng.randint(1, min(value.sizes[axis])))
        g.add("TopK", [value, count], value.dtype, I64, axis=axis, largest=g.rng.randint(0, 1), sorted=1)


def cumulative(g: Graph) -> None:
    value = g.pick(lambda v: v.rank > 0 and (v.dtype in (F32, F64, I32, I64)))
    if value:
        axis = g.constant(np.array(g.rng.randrange(value.rank)))
        g.add("CumSum", [value, axis], value.dtype, exclusive=g.rng.randint(0, 1), reverse=g.rng.randint(0, 1))


def softmax(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 0 and not v.empty())
    if value:
        op = g.rng.choice(("Softmax", "Softmax", "LogSoftmax", "Hardmax"))
        g.add(op, [value], value.dtype, axis=g.rng.randrange(-value.rank, value.rank))


def layer_norm(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 0 and v.fixed(v.rank - 1) and not v.empty())
    if value:
        bias = [g.weight(value.dtype, *_broadcast(g, value))] if g.rng.random() < 0.7 else []
        g.add("LayerNormalization", [value, g.weight(value.dtype, *_broadcast(g, value)), *bias], value.dtype, axis=-1, epsilon=0.01)


def _broadcast(g: Graph, value: Value) -> list[int]:
    """The sizes of a weight that broadcasts to the value: mostly that of its last axis."""
    if g.rng.random() < 0.6:
        return [value.shape[-1]]
    axes = range(g.rng.randint(0, value.rank), value.rank)
    return [value.shape[axis] if value.fixed(axis) and g.rng.random() < 0.6 else 1 for axis in axes]


def _channels(g: Graph):
    return g.float_value(lambda v: 3 <= v.rank <= 5 and v.fixed(1) and not v.empty())


def instance_norm(g: Graph) -> None:
    value = _channels(g)
    if value:
        g.add("InstanceNormalization", [value, *(g.weight(value.dtype, value.shape[1]) for _ in range(2))], value.dtype, epsilon=0.01)


def group_norm(g: Graph) -> None:
    value = _channels(g)
    if value:
        channels = value.shape[1]
        groups = g.rng.choice([n for n in range(1, channels + 1) if channels % n == 0])
        factors = [g.weight(value.dtype, channels) for _ in range(2)]
        g.add("GroupNormalization", [value, *factors], value.dtype, num_groups=groups, epsilon=0.01)


def batch_norm(g: Graph) -> None:
    value = _channels(g)
    if value:
        numbers = np.random.default_rng(g.rng.randrange(1 << 30)).random(value.shape[1]) + 0.5
        variance = g.constant(numbers.astype(value.dtype).astype(np.float64), value.dtype)
        others = [g.weight(value.dtype, value.shape[1]) for _ in range(3)]
        g.add("BatchNormalization", [value, *others, variance], value.dtype, epsilon=0.01)


def lp_norm(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank > 0 and not v.empty())
    if value and not any((np.abs(a).sum(-1) < 1e-3).any() for a in value.arrays):
        g.add("LpNormalization", [value], value.dtype, axis=-1, p=g.rng.choice((1, 2)))


def local_response(g: Graph) -> None:
    value = g.float_value(lambda v: v.rank == 4 and not v.empty() and v.dtype == F32)
    if value:
        g.add("LRN", [value], value.dtype, size=g.rng.choice((1, 3, 5)), alpha=0.1)


def softmax_by_hand(g: Graph) -> None:
    """As exporters write it: exp(x - max) / sum."""
    value = g.float_value(lambda v: v.rank > 0 and not v.empty())
    if not value:
        return
    axes, dtype = g.ints(-1), value.dtype
    most = g.add("ReduceMax", [value, axes], dtype, keepdims=1)
    less = most and g.add("Sub", [value, most[0]], dtype)
    power = less and g.add("Exp", [less[0]], dtype)
    total = power and g.add("ReduceSum", [power[0], axes], dtype, keepdims=1)
    if total and is_float(dtype):
        g.add("Div", [power[0], total[0]], dtype)


REDUCING = weighted({reduce: 6, reduce_integers: 1, argument: 2, top: 1, cumulative: 2, softmax: 3, layer_norm: 2, instance_norm: 1,
                     group_norm: 1, batch_norm: 2, lp_norm: 1, local_response: 1, softmax_by_hand: 1})

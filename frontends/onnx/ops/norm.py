"""Normalizations."""
import math
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.assumed import never_equal
from legato.dialects.relax.dims import Dim, Size, floor_divide
from legato.frontends.onnx.broadcasting import expanded, expanded_to
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.halves import in_32_bits
from legato.frontends.onnx.problems import Malformed, Refused


def _check_stash_type(node) -> None:
    """Checks the type of the statistics. They are always computed in f32 or wider; f32 (1) is what exporters write."""
    node.only("stash_type", 1)


@op("BatchNormalization", 7, 9, 14, 15)
def batch_norm(node):
    """BatchNormalization; in training mode with the batch's statistics, and new running ones as outputs. Before opset 14 a node is for
    training if it names outputs after the first, read or not."""
    epsilon, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    if node.version < 9 and not node.flag("spatial", True):
        return _of_each_place(node, epsilon)
    training = node.flag("training_mode") if node.version >= 14 else any(node.named[1:])
    x = node.x()
    parameters = [_as(node, index) for index in range(1, 5)]
    if not training:
        return relax.batch_norm(x, *parameters, epsilon=epsilon)
    if node.version < 14 and any(node.used[1:]):
        raise Refused("statistics of a training are not supported before opset 14: its outputs after the first are used")
    gamma, beta, mean, var = parameters
    axes = [a for a in range(node.rank()) if a != 1]
    of_batch = relax.mean(x, axis=axes)
    centered = relax.subtract(x, relax.mean(x, axis=axes, keepdims=True))
    spread = relax.mean(relax.square(centered), axis=axes)
    kept, taken = node.literal(momentum, node.dtype()), node.literal(1 - momentum, node.dtype())
    running = [relax.add(relax.multiply(old, kept), relax.multiply(new, taken)) for old, new in ((mean, of_batch), (var, spread))]
    return relax.batch_norm(x, gamma, beta, of_batch, spread, epsilon=epsilon), *running


def _of_each_place(node, epsilon: float) -> ir.Value:
    """BatchNormalization whose parameters have a number for each element of an example."""
    node.ignore("momentum")
    if any(node.named[1:]):
        raise Refused("training with spatial = 0 is not supported: the node names outputs after the first")
    for index, name in enumerate(("scale", "bias", "mean", "variance"), 1):
        node.require_shape(index, name, node.dims()[1:])
    gamma, beta, mean, var = (node.x(index) for index in range(1, 5))
    spread = relax.sqrt(relax.add(var, node.literal(epsilon, node.dtype())))
    return relax.add(relax.multiply(relax.divide(relax.subtract(node.x(), mean), spread), gamma), beta)


def _as(node, index: int):
    """A parameter in the element type of x, from which it may differ in later versions."""
    value = node.x(index)
    return value if node.dtype(index) == node.dtype() else relax.astype(value, dtype=node.dtype())


@op("LayerNormalization", 17)
def layer_norm(node):
    """LayerNormalization; the mean and the inverse standard deviation are computed if used."""
    _check_stash_type(node)
    epsilon, x, axes = node.number("epsilon", 1e-5), node.x(), last_axes(node)
    gamma = _spread(node, 1, axes)
    beta = _spread(node, 2, axes) if node.given(2) else _filled(node, 0, axes)
    if gamma is None or beta is None:
        y = relax.layer_norm(x, _filled(node, 1, axes), _filled(node, 0, axes), axes=axes, epsilon=epsilon)
        y = relax.multiply(y, _beside_x(node, 1))
        y = relax.add(y, _beside_x(node, 2)) if node.given(2) else y
    else:
        y = relax.layer_norm(x, gamma, beta, axes=axes, epsilon=epsilon)
    if not any(node.used[1:]):
        return y
    mean, inverse = statistics(node, x, epsilon, axes)
    return y, mean, inverse


def statistics(node, x: ir.Value, epsilon: float, axes: Sequence[int], simple: bool = False) -> tuple[ir.Value | None, ir.Value]:
    """The mean, and the inverse of the standard deviation (``simple``: of the root of the mean square), in f32."""
    f32 = np.dtype(np.float32)
    x = x if relax.TensorType.of(x.type).dtype == f32 else relax.astype(x, dtype=f32)
    mean = None if simple else relax.mean(x, axis=axes, keepdims=True)
    square = relax.mean(relax.square(x if mean is None else relax.subtract(x, mean)), axis=axes, keepdims=True)
    return mean, relax.rsqrt(relax.add(square, node.literal(epsilon, f32)))


def last_axes(node) -> list[int]:
    """The axes that are normalized: those of x from the attribute 'axis' on."""
    rank = node.rank()
    return list(range(node.axis(node.integer("axis", -1), rank), rank))


def _filled(node, number: int, axes: Sequence[int]) -> ir.Value:
    return relax.broadcast_to(node.literal(number, node.dtype()), shape=[node.dims()[a] for a in axes])


def _spread(node, index: int, axes: Sequence[int]) -> ir.Value | None:
    """A parameter, broadcast to the shape of the last axes of x; None where it has further axes that need not have size 1."""
    value, dims, sizes = node.x(index), node.dims(index), [node.dims()[a] for a in axes]
    further = max(0, len(dims) - len(sizes))
    _check_broadcasts(node, index)
    if any(size != 1 for size in dims[:further]):
        return None
    if further:
        value, dims = relax.squeeze(value, axis=list(range(further))), dims[further:]
    return value if list(dims) == sizes else expanded(value, sizes)


def _check_broadcasts(node, index: int) -> None:
    """Malformed where a parameter never broadcasts to x."""
    dims, wanted = node.dims(index), node.dims()
    pairs = zip(reversed(dims), reversed(wanted))
    if len(dims) > len(wanted) or any(size != 1 and never_equal(size, other) for size, other in pairs):
        raise Malformed(f"its input {index} of the shape {list(dims)} does not broadcast to x of {list(wanted)}")


def _beside_x(node, index: int) -> ir.Value:
    """A parameter as an operand of an elementwise op beside x."""
    return expanded_to(node.x(index), node.x())


@op("RMSNormalization", 23)
def rms_norm(node):
    """RMSNormalization."""
    _check_stash_type(node)
    return root_mean_square_norm(node, last_axes(node), node.number("epsilon", 1e-5))


def root_mean_square_norm(node, axes: Sequence[int], epsilon: float) -> ir.Value:
    """x divided by the root of its mean square over its last axes, times input 1, in the element type of that."""
    types = node.dtype(), node.dtype(1)
    if types[0] != types[1]:
        wide = np.float64 if np.float64 in types else np.float32
        same = node.with_inputs(*(relax.astype(x, dtype=wide) for x in node.xs()))
        return relax.astype(root_mean_square_norm(same, axes, epsilon), dtype=types[1])
    gamma = _spread(node, 1, axes)
    if gamma is None:
        return relax.multiply(relax.rms_norm(node.x(), _filled(node, 1, axes), axes=axes, epsilon=epsilon), _beside_x(node, 1))
    return relax.rms_norm(node.x(), gamma, axes=axes, epsilon=epsilon)


@op("InstanceNormalization", 6, 22)
def instance_norm(node):
    """InstanceNormalization."""
    return relax.instance_norm(node.x(0), node.x(1), node.x(2), epsilon=node.number("epsilon", 1e-5))


@op("GroupNormalization", 18, 21)
def group_norm(node):
    """GroupNormalization; before opset 21 with one scale and bias per group."""
    groups, epsilon = node.integer("num_groups"), node.number("epsilon", 1e-5)
    x, channels = node.x(0), node.dims()[1]
    if node.version >= 21:
        _check_stash_type(node)
        scale, bias = (_vector(node, index, channels) for index in (1, 2))
        return relax.group_norm(x, scale, bias, num_groups=groups, epsilon=epsilon)
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise Malformed(f"its num_groups = {groups} does not divide x's {channels} channels")
    width = floor_divide(channels, groups)
    columns = [relax.expand_dims(_vector(node, index, groups), axis=[1]) for index in (1, 2)]
    scale, bias = (relax.reshape(relax.broadcast_to(column, shape=[groups, width]), shape=[groups * width]) for column in columns)
    return relax.group_norm(x, scale, bias, num_groups=groups, epsilon=epsilon)


def _vector(node, index: int, size: Size) -> ir.Value:
    """A parameter as a vector of this size, to which one element is broadcast. ONNX's definition as a function flattens it."""
    value, dims = node.x(index), node.dims(index)
    count = math.prod(dims)
    if count != 1 and never_equal(count, size):
        raise Malformed(f"its input {index} must have the shape [{size}], has {list(dims)}")
    value = value if len(dims) == 1 else relax.reshape(value, shape=[count])
    may_be_one = count == 1 or isinstance(count, Dim)
    return expanded(value, [size]) if may_be_one and count != size else value


@op("LRN", 1, 13)
def lrn(node):
    """LRN."""
    return relax.lrn(
        node.x(), size=node.integer("size"), alpha=node.number("alpha", 1e-4), beta=node.number("beta", 0.75), bias=node.number("bias", 1.0)
    )


@op("MeanVarianceNormalization", 9, 13)
def mean_variance_norm(node):
    """MeanVarianceNormalization. ONNX's definition as a function subtracts the square of the mean from the mean of squares, which loses all
    digits of a small variance, and adds constants of f32, which is an error in other types."""
    axes = [node.axis(axis, node.rank()) for axis in node.integers("axes", [0, 2, 3])]

    def normalized(x):
        centered = relax.subtract(x, relax.mean(x, axis=axes, keepdims=True))
        deviation = relax.sqrt(relax.mean(relax.square(centered), axis=axes, keepdims=True))
        return relax.divide(centered, relax.add(deviation, node.literal(np.float32(1e-9), relax.TensorType.of(x.type).dtype)))

    return in_32_bits(normalized)(node.x())


ENTRIES = (batch_norm, layer_norm, rms_norm, instance_norm, group_norm, lrn, mean_variance_norm)

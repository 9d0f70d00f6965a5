"""Normalizations."""
import numpy as np

from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Refused


def _check_stash_type(node) -> None:
    """Checks the type of the statistics. They are always computed in f32 or wider; f32 (1) is what exporters write."""
    node.only("stash_type", 1)


@op("BatchNormalization", 7, 9, 14, 15)
def batch_norm(node):
    """BatchNormalization; in training mode (from opset 14) with the batch's statistics, and new running ones as outputs."""
    epsilon, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    if node.version < 9:
        node.only("spatial", 1)
    training = node.flag("training_mode") if node.version >= 14 else any(node.used[1:])
    x = node.x()
    parameters = [_as(node, index) for index in range(1, 5)]
    if not training:
        return relax.batch_norm(x, *parameters, epsilon=epsilon)
    if node.version < 14:
        raise Refused("training is not supported before opset 14: its outputs after the first are used")
    gamma, beta, mean, var = parameters
    axes = [a for a in range(node.rank()) if a != 1]
    of_batch = relax.mean(x, axis=axes)
    centered = relax.subtract(x, relax.mean(x, axis=axes, keepdims=True))
    spread = relax.mean(relax.square(centered), axis=axes)
    kept, taken = node.literal(momentum, node.dtype()), node.literal(1 - momentum, node.dtype())
    running = [relax.add(relax.multiply(old, kept), relax.multiply(new, taken)) for old, new in ((mean, of_batch), (var, spread))]
    return relax.batch_norm(x, gamma, beta, of_batch, spread, epsilon=epsilon), *running


def _as(node, index: int):
    """A parameter in the element type of x, from which it may differ in later versions."""
    value = node.x(index)
    return value if node.dtype(index) == node.dtype() else relax.astype(value, dtype=node.dtype())


@op("LayerNormalization", 17)
def layer_norm(node):
    """LayerNormalization; the mean and the inverse standard deviation are computed if used."""
    _check_stash_type(node)
    rank, epsilon = node.rank(), node.number("epsilon", 1e-5)
    axes = list(range(node.axis(node.integer("axis", -1), rank), rank))
    x, dims = node.x(), node.dims()
    sizes = [dims[a] for a in axes]
    gamma = spread(node, 1, sizes)
    beta = spread(node, 2, sizes) if node.given(2) else relax.broadcast_to(node.literal(0, node.dtype()), shape=sizes)
    y = relax.layer_norm(x, gamma, beta, axes=axes, epsilon=epsilon)
    if not any(node.used[1:]):
        return y
    mean = relax.mean(x, axis=axes, keepdims=True)
    variance = relax.mean(relax.square(relax.subtract(x, mean)), axis=axes, keepdims=True)
    return y, mean, relax.rsqrt(relax.add(variance, node.literal(epsilon, node.dtype())))


def spread(node, index: int, sizes):
    """A parameter, broadcast to the shape of the normalized axes."""
    value, dims = node.x(index), list(node.dims(index))
    if len(dims) > len(sizes) and all(size == 1 for size in dims[: len(dims) - len(sizes)]):
        value, dims = relax.squeeze(value, axis=list(range(len(dims) - len(sizes)))), dims[len(dims) - len(sizes) :]
    return value if dims == list(sizes) else relax.broadcast_to(value, shape=sizes)


@op("RMSNormalization", 23)
def rms_norm(node):
    """RMSNormalization."""
    _check_stash_type(node)
    rank = node.rank()
    axes = list(range(node.axis(node.integer("axis", -1), rank), rank))
    gamma = spread(node, 1, [node.dims()[a] for a in axes])
    return relax.rms_norm(node.x(), gamma, axes=axes, epsilon=node.number("epsilon", 1e-5))


@op("InstanceNormalization", 6, 22)
def instance_norm(node):
    """InstanceNormalization."""
    return relax.instance_norm(node.x(0), node.x(1), node.x(2), epsilon=node.number("epsilon", 1e-5))


@op("GroupNormalization", 18, 21)
def group_norm(node):
    """GroupNormalization; before opset 21 with one scale and bias per group."""
    groups, epsilon = node.integer("num_groups"), node.number("epsilon", 1e-5)
    x, scale, bias = node.x(0), node.x(1), node.x(2)
    if node.version < 21:  # one parameter per group
        channels = node.dims()[1]
        if not isinstance(channels, int) or groups < 1 or channels % groups:
            raise Refused(f"{channels} channels in {groups} groups are not supported")
        which = node.literal(np.repeat(np.arange(groups), channels // groups))
        scale, bias = relax.take(scale, which, axis=0), relax.take(bias, which, axis=0)
    else:
        _check_stash_type(node)
    return relax.group_norm(x, scale, bias, num_groups=groups, epsilon=epsilon)


@op("LRN", 1, 13)
def lrn(node):
    """LRN."""
    return relax.lrn(
        node.x(), size=node.integer("size"), alpha=node.number("alpha", 1e-4), beta=node.number("beta", 0.75), bias=node.number("bias", 1.0)
    )


ENTRIES = (batch_norm, layer_norm, rms_norm, instance_norm, group_norm, lrn)

"""Pools."""
import numpy as np

from legato.core.dtypes import kind
from legato.dialects import relax
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.unpool import numbered_elements
from legato.frontends.onnx.ops.windows import read_window, shifted
from legato.frontends.onnx.problems import Refused


@op("MaxPool", 1, 8, 10, 11, 12, 22)
def max_pool(node):
    """MaxPool; where its greatest elements lie is a pool of its own."""
    window, ceil_mode, by_columns = read_window(node, None), node.flag("ceil_mode"), node.flag("storage_order")
    lowest = -np.inf if kind(node.dtype()) == "float" else np.iinfo(node.dtype()).min
    x, unpadded = shifted(node, node.x(), window, float(lowest))
    y = _pool(x, "max", unpadded, ceil_mode) if node.used[0] else None
    if not any(node.used[1:]):
        return y
    return y, numbered_elements(node, _pool(x, "arg_max", unpadded, ceil_mode), x, window, by_columns)


@op("AveragePool", 7, 10, 11, 19, 22)
def average_pool(node):
    """AveragePool."""
    window, ceil_mode = read_window(node, None), node.flag("ceil_mode")
    x, unpadded = shifted(node, node.x(), window, 0.0)
    counts_padding = node.flag("count_include_pad")
    y = _pool(x, "avg", unpadded, ceil_mode, count_include_pad=counts_padding)
    if counts_padding or not any(window.shifts):
        return y
    ones = relax.broadcast_to(node.literal(1, node.dtype()), shape=[1, 1, *node.dims()[2:]])
    return relax.divide(y, _pool(shifted(node, ones, window, 0.0)[0], "avg", unpadded, ceil_mode, count_include_pad=False))


def _pool(x, name: str, window, ceil_mode: bool, **attributes):
    attributes |= {"kernel": window.kernel, "strides": window.strides, "padding": window.padding, "dilations": window.dilations}
    return getattr(relax, f"{name}_pool{window.rank}d")(x, ceil_mode=ceil_mode, **attributes)


@op("LpPool", 2, 11, 18, 22)
def lp_pool(node):
    """LpPool: the average of the p-th powers, times the size of the window, to the power 1/p."""
    p, window, ceil_mode = node.integer("p", 2), read_window(node, None), node.flag("ceil_mode")
    if any(window.shifts):
        raise Refused("auto_pad over an axis of symbolic size is not supported with a stride")
    if ceil_mode or p < 1:
        raise Refused(f"ceil_mode = {int(ceil_mode)}, p = {p} is not supported")
    x, dtype = relax.abs(node.x()), node.dtype()
    for axis, size in enumerate(node.dims()[2:]):   # what exceeds the padding would not count as elements of the window
        begin, end = window.padding[axis], window.padding[window.rank + axis]
        excess = window.dilations[axis] * (window.kernel[axis] - 1) + 1 - begin - end - size
        if isinstance(excess, int) and 0 < excess < window.strides[axis]:
            window.padding[window.rank + axis] += excess
    powers = relax.square(x) if p == 2 else relax.power(x, node.literal(p, dtype))
    mean = _pool(powers, "avg", window, False, count_include_pad=True)
    total = relax.multiply(mean, node.literal(np.prod(window.kernel), dtype))
    return relax.sqrt(total) if p == 2 else relax.power(total, node.literal(1 / p, dtype))


def _spatial(node) -> list[int]:
    return list(range(2, node.rank()))


@op("GlobalAveragePool", 1, 22)
def global_average_pool(node):
    """GlobalAveragePool."""
    return relax.mean(node.x(), axis=_spatial(node), keepdims=True)


@op("GlobalMaxPool", 1, 22)
def global_max_pool(node):
    """GlobalMaxPool."""
    return relax.max(node.x(), axis=_spatial(node), keepdims=True)


@op("GlobalLpPool", 2, 22)
def global_lp_pool(node):
    """GlobalLpPool."""
    p, dtype = node.integer("p", 2), node.dtype()
    if kind(dtype) != "float" or p < 1:
        raise Refused(f"p = {p} of {dtype} is not supported")
    powers = relax.power(relax.abs(node.x()), node.literal(p, dtype))
    return relax.power(relax.sum(powers, axis=_spatial(node), keepdims=True), node.literal(1 / p, dtype))


ENTRIES = (max_pool, average_pool, lp_pool, global_average_pool, global_max_pool, global_lp_pool)

"""Pools."""
from dataclasses import replace

import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.window import output_sizes
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.halves import in_32_bits
from legato.frontends.onnx.ops.unpool import numbered_elements
from legato.frontends.onnx.ops.windows import Window, read_window, shifted
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
    """LpPool: the average of the p-th powers, times the size of the window, to the power 1/p. Padding is a pad of zeros before, as what
    exceeds a pool's own padding would not count as elements of the window."""
    p, window, ceil_mode = node.integer("p", 2), read_window(node, None), node.flag("ceil_mode")
    if p < 1:
        raise Refused(f"p = {p} is not supported")
    return in_32_bits(_lp_pool)(node.x(), node, p, window, ceil_mode)


def _lp_pool(x, node, p: int, window: Window, ceil_mode: bool) -> ir.Value:
    x, dtype, rank = relax.abs(x), relax.TensorType.of(x.type).dtype, window.rank
    x, unpadded = shifted(node, relax.square(x) if p == 2 else relax.power(x, node.literal(p, dtype)), window, 0.0)
    sizes, pads = relax.TensorType.of(x.type).dims[2:], list(unpadded.padding)
    counts = output_sizes(sizes, window.kernel, window.strides, pads, window.dilations, ceil_mode, overhang=True)
    for axis, (size, count, stride) in enumerate(zip(sizes, counts, window.strides)):   # room for a last window that reaches beyond
        reach = (count - 1) * stride + window.dilations[axis] * (window.kernel[axis] - 1) + 1 - pads[axis] - pads[rank + axis] - size
        pads[rank + axis] += max(reach, 0) if isinstance(reach, int) else (stride - 1) * ceil_mode
    if any(pads):
        x = relax.pad(x, pads=[0, 0, *pads[:rank], 0, 0, *pads[rank:]])
    mean = _pool(x, "avg", replace(unpadded, padding=[0] * (2 * rank)), False, count_include_pad=True)
    if relax.TensorType.of(mean.type).dims[2:] != tuple(counts):
        mean = relax.strided_slice(mean, begin=[0] * rank, end=counts, axes=list(range(2, 2 + rank)))
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

    def pooled(x):
        wide = relax.TensorType.of(x.type).dtype
        powers = relax.power(relax.abs(x), node.literal(p, wide))
        return relax.power(relax.sum(powers, axis=_spatial(node), keepdims=True), node.literal(1 / p, wide))

    return in_32_bits(pooled)(node.x())


ENTRIES = (max_pool, average_pool, lp_pool, global_average_pool, global_max_pool, global_lp_pool)

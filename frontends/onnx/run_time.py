"""Operands that say an axis, a size or a place, and are computed at run time: as tensors of integers, and from them as symbols.

Everything here is built of graph ops on small vectors of int64. What is not valid makes a size negative, which is an error of the call that
names the node (``relax.size_of``).
"""
from collections.abc import Sequence

import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Dim, Size
from legato.dialects.relax.ops.count import sizes_of
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import KNOWN_ELEMENTS

I64 = np.dtype(np.int64)


def integers(node: OnnxNode, index: int, what: str, floats: bool = False, any_length: bool = False) -> ir.Value:
    """An input as a vector of int64, of a length that is known. Refused if it is not, unless ``any_length``; Malformed for floats, unless
    the op takes these."""
    x = node.x(index)
    sizes = relax.TensorType.of(x.type).dims
    if len(sizes) > 1 or not (any_length or all(isinstance(size, int) for size in sizes)):
        raise Refused(f"the number of {what}, {list(sizes)}, is known only at run time")
    if sizes and isinstance(sizes[0], int) and sizes[0] > KNOWN_ELEMENTS:
        raise Refused(f"there are {sizes[0]} {what}, more than {KNOWN_ELEMENTS}")
    if not floats and kind(node.dtype(index)) not in ("int", "uint"):
        raise Malformed(f"the {what} must be integers, not {node.dtype(index)}")
    x = x if node.dtype(index) == I64 else relax.astype(x, dtype=I64)
    return x if sizes else relax.reshape(x, shape=[1])


def literal(values) -> ir.Value:
    """A constant of int64."""
    return relax.constant(np.asarray(values, I64))


def vector(node: OnnxNode, sizes: Sequence[Size]) -> ir.Value:
    """Sizes as a vector of int64."""
    return node.emit(node.vector(sizes))


def count(x: ir.Value) -> int:
    """The length of a vector."""
    return x.type.shape[0]


def counted(size: Size, start: int | ir.Value = 0, step: int | ir.Value = 1) -> ir.Value:
    """start, start + step and so on, as many as a size says. ``start``, ``step``: numbers, or vectors of one."""
    if isinstance(size, int) and size <= KNOWN_ELEMENTS and not isinstance(start, ir.Value) and not isinstance(step, ir.Value):
        return literal(start + np.arange(size) * step)
    first, apart = (relax.reshape(one, shape=[]) if isinstance(one, ir.Value) else literal(one) for one in (start, step))
    return relax.arange(first, apart, shape=[size])


def symbols(node: OnnxNode, x: ir.Value, what: str) -> list[Dim]:
    """The elements of a vector as new symbols, named after the node."""
    if not count(x):
        return []
    return sizes_of(x, f"{node.label}_{what}")


def a_symbol(node: OnnxNode, index: int, what: str, floats: bool = False) -> Dim:
    """An input that is one integer as a symbol: that of a node before, if one of the block reads the same value. Malformed if it has more
    elements, or none."""
    known, key = node.emitter.symbols, (node.x(index), ir.InsertionPoint.current.block)
    if key not in known:
        x = integers(node, index, what, floats)
        if count(x) != 1:
            raise Malformed(f"{what} must be one number, has {count(x)} elements")
        known[key] = symbols(node, x, what)[0]
    return known[key]


def joined(*vectors: ir.Value) -> ir.Value:
    """Vectors one behind the other."""
    return relax.concat(list(vectors), axis=0)


def clamped(x: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    """Elements below ``low`` become that, then those above ``high``."""
    return relax.minimum(relax.maximum(x, low), high)


def all_of(conditions: ir.Value) -> ir.Value:
    """Whether all elements of a vector of booleans are true."""
    return relax.min(conditions, axis=[0], keepdims=True)


def valid_or_negative(x: ir.Value, condition: ir.Value) -> ir.Value:
    """The vector, or -1 everywhere where the condition ([1]) does not hold."""
    return relax.where(condition, x, literal(-1))


def counted_from_front(axes: ir.Value, rank: int) -> tuple[ir.Value, ir.Value]:
    """Axes counted from the front, and whether all of them are in a tensor of that rank ([1])."""
    inside = relax.logical_and(relax.greater_equal(axes, literal(-rank)), relax.less(axes, literal(rank)))
    return relax.where(relax.less(axes, literal(0)), relax.add(axes, literal(rank)), axes), all_of(inside)


def rows_of(axes: ir.Value, rank: int) -> ir.Value:
    """For each listed axis, counted from the front, a row of ``rank`` booleans that says which it is: [axes, rank]."""
    return relax.equal(relax.expand_dims(axes, axis=[1]), literal(np.arange(rank)[None]))


def spread(rows: ir.Value, values: ir.Value) -> ir.Value:
    """For each axis the value that belongs to it, of a vector of one for each listed axis; 0 for axes that are not listed."""
    return relax.sum(relax.where(rows, relax.expand_dims(values, axis=[1]), literal(0)), axis=[0])


def marked(axes: ir.Value, rank: int) -> tuple[ir.Value, ir.Value]:
    """For each axis of a tensor whether it is listed ([rank]), and whether all listed axes exist and differ ([1])."""
    axes, inside = counted_from_front(axes, rank)
    times = relax.sum(relax.astype(rows_of(axes, rank), dtype=I64), axis=[0])
    once = all_of(relax.less_equal(times, literal(1))) if rank else inside
    return relax.greater(times, literal(0)), relax.logical_and(inside, once)


def chosen(values: ir.Value, flags: ir.Value, number: int) -> ir.Value:
    """The first ``number`` of those values whose flag is set, in their order."""
    order = relax.add(relax.where(flags, literal(0), literal(count(values))), literal(np.arange(count(values))))
    return relax.take(values, relax.topk(order, k=number, axis=0, largest=False), axis=0)


def around_axis(node: OnnxNode, index: int, what: str) -> list[Dim]:
    """The number of elements before, along and behind the axis of input 0 that the input ``index`` says."""
    rank = node.rank()
    axis, inside = counted_from_front(integers(node, index, what), rank)
    sizes, places = vector(node, node.dims()), literal(np.arange(rank))
    parts = [relax.prod(relax.where(compare(places, axis), sizes, literal(1)), axis=[0], keepdims=True)
             for compare in (relax.less, relax.equal, relax.greater)]
    return symbols(node, valid_or_negative(joined(*parts), inside), what)

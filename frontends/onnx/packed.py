"""Sequences whose length is known only at run time, built of graph ops: see ``PackedSequence``.

A place in a sequence is a symbol (``relax.size_of``); one that is not in it makes the symbol negative, which is an error of the call that
names the node.
"""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.frontends.onnx import regions, run_time
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.sequences import PackedSequence, SequenceValue, common_element, differing, elements_of, shape_of_data
from legato.frontends.onnx.values import Value


def packed(node: OnnxNode, sequence: SequenceValue | PackedSequence, element: Sequence[Size] | None = None) -> PackedSequence:
    """The sequence in one tensor. ``element``: the sizes that its tensors have in common, at most those that they do have; by default all
    of them. Refused for tensors of different ranks, and without ``element`` for an empty list."""
    if isinstance(sequence, PackedSequence):
        return _widened(node, sequence, sequence.element if element is None else element)
    element = element_of(sequence) if element is None else element
    if element is None:
        raise Refused("what tensors an empty sequence has is not known")
    if not sequence.parts:
        data = relax.broadcast_to(node.literal(0, sequence.dtype), shape=list(shape_of_data(element)))
        return PackedSequence(data, _empty_table(element), element)
    tensors = [node.emit(part) for part in sequence.parts]
    units = [_unit(tensor, element) for tensor in tensors]
    rows = [_row(node, tensor, element) for tensor in tensors] if differing(element) else []
    axis = PackedSequence(units[0], None, element).axis
    return PackedSequence(_joined(units, axis), _joined(rows, 0) if rows else None, element)


def element_of(sequence: SequenceValue | PackedSequence) -> tuple[Size, ...] | None:
    """The sizes that a sequence's tensors have in common; None for an empty list. Refused for tensors of different ranks."""
    if isinstance(sequence, PackedSequence):
        return sequence.element
    found: tuple[Size, ...] | None = None
    for part in sequence.parts:
        found = part.dims if found is None else common_element(found, part.dims)
    return found


def position(node: OnnxNode, index: int, length: Size, behind: bool = False) -> Size:
    """An input as a place in a sequence, counted from the front; ``behind``: its end is one, too. A call with another one is an error."""
    size = run_time.vector(node, [length])
    places = run_time.integers(node, index, "positions")
    below = (relax.less_equal if behind else relax.less)(places, size)
    inside = relax.logical_and(relax.greater_equal(places, relax.negative(size)), below)
    places = relax.where(relax.less(places, run_time.literal(0)), relax.add(places, size), places)
    return _from_zero(node, relax.where(run_time.all_of(inside), places, run_time.literal(-2)), "position")


def last(node: OnnxNode, sequence: PackedSequence) -> Size:
    """The last place in a sequence. A call in which it is empty is an error."""
    if sequence.length == 0:
        raise Malformed("its sequence has no tensors")
    if isinstance(sequence.length, int):
        return sequence.length - 1
    # a symbol of the block where the node stands, which may be a branch for sequences that are not empty
    count = run_time.vector(node, [sequence.length])
    places = relax.where(relax.greater(count, run_time.literal(0)), relax.subtract(count, run_time.literal(1)), run_time.literal(-2))
    return _from_zero(node, places, "last_position")


def tensor_at(node: OnnxNode, sequence: PackedSequence, place: Size) -> ir.Value:
    """The tensor at a place of a sequence."""
    axes = sequence.differing
    if not axes:
        return relax.squeeze(relax.strided_slice(sequence.data, begin=[place], end=[place + 1], axes=[0]), axis=[0])
    begin = _begin(node, sequence, place)
    row = relax.reshape(relax.strided_slice(sequence.table, begin=[place], end=[place + 1], axes=[0]), shape=[-1])
    sizes = run_time.symbols(node, row, "size")
    if len(axes) == 1:
        return relax.strided_slice(sequence.data, begin=[begin], end=[begin + sizes[0]], axes=[axes[0]])
    shape = [size if known is UNKNOWN else known for known, size in zip(sequence.element, sizes)]
    flat = relax.strided_slice(sequence.data, begin=[begin], end=[begin + elements_of(shape)], axes=[0])
    return relax.reshape(flat, shape=shape)


def inserted(node: OnnxNode, sequence: PackedSequence, value: Value, place: Size | None) -> PackedSequence:
    """The sequence with a tensor in front of that at a place; None: at its end."""
    sequence = _widened(node, sequence, common_element(sequence.element, value.dims))
    tensor = node.emit(value)
    unit, row = _unit(tensor, sequence.element), _row(node, tensor, sequence.element) if sequence.differing else None
    if place is None:
        data = relax.concat([sequence.data, unit], axis=sequence.axis)
        return PackedSequence(data, None if row is None else relax.concat([sequence.table, row], axis=0), sequence.element)
    begin = _begin(node, sequence, place)
    return _replaced(sequence, begin, begin, place, place, unit, row)


def erased(node: OnnxNode, sequence: PackedSequence, place: Size) -> PackedSequence:
    """The sequence without the tensor at a place."""
    begin, end = _begin(node, sequence, place), _begin(node, sequence, place + 1)
    return _replaced(sequence, begin, end, place, place + 1)


def concatenated(node: OnnxNode, sequence: PackedSequence, axis: int, is_new: bool) -> ir.Value:
    """The tensors along an axis, or along a new one. A call is an error where the sequence is empty, and where the tensors' sizes along
    other axes differ."""
    last(node, sequence)
    if len(sequence.differing) == 1 and not is_new and sequence.axis == axis:
        return sequence.data
    if len(sequence.differing) > 1 and not is_new and axis == 0:
        if 0 in sequence.differing:
            shape = _even_sizes(node, sequence, [a for a in sequence.differing if a != 0])
            total = relax.sum(_column(sequence, 0), axis=[0], keepdims=True)
            return relax.reshape(sequence.data, shape=[*run_time.symbols(node, total, "size"), *shape[1:]])
    elif len(sequence.differing) > 1 and not is_new and axis in sequence.differing:
        raise Refused(f"the tensors of its sequence, whose length is known only at run time, differ along the axes {sequence.differing}, "
                      f"and are joined along axis {axis}: only axis 0 is supported there")
    return _along(_stacked(node, sequence), axis, is_new)


def split(node: OnnxNode, axis: int) -> PackedSequence:
    """SplitToSequence into a number of parts that is known only at run time."""
    x, sizes = node.x(), list(node.dims())
    size = sizes[axis]
    if not node.given(1):
        return _unstacked(x, axis, keeps=node.flag("keepdims", True))
    if len(node.dims(1)) == 1:
        return _split_by_list(node, axis)
    if not node.by_data(1) and node.sizes(1, "the split") == [1]:
        return _unstacked(x, axis, keeps=True)
    whole, part, one = run_time.vector(node, [size]), run_time.integers(node, 1, "parts"), run_time.literal(1)
    count = relax.floor_divide(relax.add(whole, relax.subtract(part, one)), relax.maximum(part, one))
    (length,) = run_time.symbols(node, run_time.valid_or_negative(count, relax.greater_equal(part, one)), "parts")
    left = run_time.counted(length, start=whole, step=relax.negative(part))
    sizes[axis] = UNKNOWN
    return PackedSequence(x, relax.minimum(left, part), sizes)


def _split_by_list(node: OnnxNode, axis: int) -> PackedSequence:
    """The parts of listed sizes, whose number or sizes are known only at run time."""
    sizes, given = list(node.dims()), node.dims()[axis]
    table = node.x(1) if node.dtype(1) == run_time.I64 else relax.astype(node.x(1), dtype=run_time.I64)
    yes = relax.constant(np.ones(1, np.bool_))
    valid = run_time.all_of(run_time.joined(relax.greater_equal(table, run_time.literal([0])), yes))
    total = relax.sum(table, axis=[0], keepdims=True)
    (total,) = run_time.symbols(node, run_time.valid_or_negative(total, valid), "parts")
    node.require_equal(total, given, f"the sizes of its parts, {total}, to be {given}, that of its axis {axis}")
    sizes[axis] = UNKNOWN
    return PackedSequence(node.x(), table, sizes)


def _unstacked(x: ir.Value, axis: int, keeps: bool) -> PackedSequence:
    """The slices of size 1 along an axis, with or without it."""
    sizes = list(relax.TensorType.of(x.type).dims)
    first = _moved(x, axis, 0)
    element = [*sizes[:axis], *([1] if keeps else []), *sizes[axis + 1:]]
    return PackedSequence(relax.expand_dims(first, axis=[axis + 1]) if keeps else first, None, element)


def known_outside(node: OnnxNode, element: Sequence[Size]) -> tuple[Size, ...]:
    """The sizes without those that only the region around the insertion point knows, which are UNKNOWN."""
    return tuple(size if size is not UNKNOWN and regions.is_known_outside(node.emitter, size) else UNKNOWN for size in element)


def _unit(tensor: ir.Value, element: Sequence[Size]) -> ir.Value:
    """A tensor as it lies in ``data``."""
    axes = differing(element)
    if not axes:
        return relax.expand_dims(tensor, axis=[0])
    return tensor if len(axes) == 1 else relax.reshape(tensor, shape=[elements_of(relax.TensorType.of(tensor.type).dims)])


def _row(node: OnnxNode, tensor: ir.Value, element: Sequence[Size]) -> ir.Value:
    """A tensor's row of the table."""
    axes, sizes = differing(element), relax.TensorType.of(tensor.type).dims
    return run_time.vector(node, [sizes[axes[0]]]) if len(axes) == 1 else relax.expand_dims(run_time.vector(node, sizes), axis=[0])


def _empty_table(element: Sequence[Size]) -> ir.Value | None:
    axes = differing(element)
    return run_time.literal(np.zeros([0, len(element)] if len(axes) > 1 else [0])) if axes else None


def _joined(tensors: Sequence[ir.Value], axis: int) -> ir.Value:
    return relax.concat(list(tensors), axis=axis) if len(tensors) > 1 else tensors[0]


def _moved(x: ir.Value, source: int, target: int) -> ir.Value:
    """The tensor with an axis at another place among the others."""
    axes = [axis for axis in range(x.type.rank) if axis != source]
    axes.insert(target, source)
    return relax.permute_dims(x, axes=axes) if source != target else x


def _begin(node: OnnxNode, sequence: PackedSequence, place: Size) -> Size:
    """Where in ``data`` the tensor at a place begins."""
    axes = sequence.differing
    if not axes:
        return place
    before = relax.strided_slice(sequence.table, begin=[0], end=[place], axes=[0])
    units = before if len(axes) == 1 else relax.prod(before, axis=[1])
    return _from_zero(node, relax.sum(units, axis=[0], keepdims=True), "offset")


def _from_zero(node: OnnxNode, x: ir.Value, what: str) -> Size:
    """The element of a vector of one as a size that may be 0: inference takes symbols to be 1 or more."""
    (size,) = run_time.symbols(node, relax.add(x, run_time.literal(1)), what)
    return size - 1


def _replaced(sequence: PackedSequence, begin: Size, end: Size, first: Size, last: Size, unit: ir.Value | None = None,
              row: ir.Value | None = None) -> PackedSequence:
    """The sequence with a tensor, or none, in place of those from ``first`` to ``last``, which are ``begin`` to ``end`` in ``data``."""
    def cut(x: ir.Value, low: Size, high: Size, middle: ir.Value | None, axis: int) -> ir.Value:
        sizes = list(relax.TensorType.of(x.type).dims)
        parts = [relax.strided_slice(x, begin=[0], end=[low], axes=[axis]),
                 *([] if middle is None else [middle]),
                 relax.strided_slice(x, begin=[high], end=[sizes[axis]], axes=[axis])]
        whole = relax.concat(parts, axis=axis)
        sizes[axis] += low - high if middle is None else relax.TensorType.of(middle.type).dims[axis]
        if middle is None and not isinstance(sizes[axis], int):
            return whole        # that its size is not negative would be checked in front of a branch that is not taken, too
        return relax.reshape(whole, shape=sizes)     # the places are in the sequence

    table = None if sequence.table is None else cut(sequence.table, first, last, row, 0)
    return PackedSequence(cut(sequence.data, begin, end, unit, sequence.axis), table, sequence.element)


def _widened(node: OnnxNode, sequence: PackedSequence, element: Sequence[Size]) -> PackedSequence:
    """The sequence as one of tensors of which fewer sizes are the same."""
    element = tuple(element)
    old, new = sequence.differing, differing(element)
    if old == new:
        return sequence
    if len(old) > 1 or old not in ([], [0]) or (old and len(new) == 1):
        raise Refused(f"a sequence of tensors that differ along axis {old[0]} gets one that differs along {sorted(set(new) - set(old))}: "
                      "of a sequence whose length is known only at run time, that is supported where the first of these axes is 0")
    sizes, count = relax.TensorType.of(sequence.data.type).dims, sequence.length
    if len(new) == 1:
        axis = new[0]
        data = relax.reshape(_moved(sequence.data, 0, axis), shape=[*sizes[1:axis + 1], count * sizes[axis + 1], *sizes[axis + 2:]])
        return PackedSequence(data, relax.broadcast_to(run_time.vector(node, [sizes[axis + 1]]), shape=[count]), element)
    columns = [relax.expand_dims(sequence.table, axis=[1]) if axis in old else
               relax.broadcast_to(run_time.vector(node, [size]), shape=[count, 1]) for axis, size in enumerate(sequence.element)]
    return PackedSequence(relax.reshape(sequence.data, shape=[elements_of(sizes)]), relax.concat(columns, axis=1), element)


def _column(sequence: PackedSequence, axis: int) -> ir.Value:
    """The sizes of the tensors along an axis on which they differ: [length]."""
    if len(sequence.differing) == 1:
        return sequence.table
    return relax.squeeze(relax.strided_slice(sequence.table, begin=[axis], end=[axis + 1], axes=[1]), axis=[1])


def _even_sizes(node: OnnxNode, sequence: PackedSequence, axes: Sequence[int]) -> list[Size]:
    """The sizes of all tensors of a sequence, where calls check that they do not differ along these axes."""
    shape = list(sequence.element)
    for axis in axes:
        column = _column(sequence, axis)
        low = relax.strided_slice(run_time.joined(column, run_time.literal([0])), begin=[0], end=[1], axes=[0])
        flags = run_time.joined(relax.equal(column, low), relax.constant(np.ones(1, np.bool_)))
        shape[axis] = run_time.symbols(node, run_time.valid_or_negative(low, run_time.all_of(flags)), "size")[0]
    return shape


def _stacked(node: OnnxNode, sequence: PackedSequence) -> ir.Value:
    """The tensors along a new axis 0; a call where their sizes differ is an error."""
    axes = sequence.differing
    if not axes:
        return sequence.data
    shape = _even_sizes(node, sequence, axes)
    if len(axes) > 1:
        return relax.reshape(sequence.data, shape=[sequence.length, *shape])
    axis = axes[0]
    return _moved(relax.reshape(sequence.data, shape=[*shape[:axis], sequence.length, *shape[axis:]]), axis, 0)


def _along(stacked: ir.Value, axis: int, is_new: bool) -> ir.Value:
    """What is stacked along axis 0, along a new axis, or one behind the other along one that is there."""
    sizes, moved = relax.TensorType.of(stacked.type).dims, _moved(stacked, 0, axis)
    if is_new:
        return moved
    return relax.reshape(moved, shape=[*sizes[1:axis + 1], sizes[0] * sizes[axis + 1], *sizes[axis + 2:]])

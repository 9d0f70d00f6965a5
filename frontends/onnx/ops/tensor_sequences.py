"""Sequences of tensors and optionals. Lengths are known at import; an index may be data where all tensors have one type."""
import numpy as np

from legato.dialects import relax
from legato.dialects.relax.dims import Dim
from legato.frontends.onnx import run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.run_time_slices import split_by_data
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.sequences import EmptyOptional, SequenceValue
from legato.frontends.onnx.tensors import dtype_of
from legato.frontends.onnx.values import ComputedValue, Value


def _sequence(node, index: int = 0) -> SequenceValue:
    value = node.value(index)
    if not isinstance(value, SequenceValue):
        raise Malformed(f"its input {index} is {'an empty optional' if isinstance(value, EmptyOptional) else 'a tensor'}, not a sequence")
    return value


def _position(node, index: int, length: int, count: int) -> int:
    """A place among ``count`` places of a sequence, counted from the front. Refused if it is data."""
    place = int(node.ints(index, "the position")[0])
    if not -length <= place < count:
        raise Malformed(f"position {place} is not in a sequence of {length} tensors")
    return place + length if place < 0 else place


@op("SequenceEmpty", 11)
def sequence_empty(node):
    """SequenceEmpty."""
    return SequenceValue([], dtype_of(node.integer("dtype", 1)))


@op("SequenceConstruct", 11)
def sequence_construct(node):
    """SequenceConstruct."""
    return SequenceValue([node.value(i) for i in range(len(node))], node.dtype())


@op("SequenceLength", 11)
def sequence_length(node):
    """SequenceLength, a constant."""
    return np.array(len(_sequence(node).parts), np.int64)


@op("SequenceAt", 11)
def sequence_at(node):
    """SequenceAt; at a position that is data, tensors of one type are stacked, and one is taken."""
    parts = _sequence(node).parts
    if not node.by_data(1):
        return parts[_position(node, 1, len(parts), len(parts))]
    tensors = [node.emit(part) for part in parts]
    if len({tensor.type for tensor in tensors}) != 1:
        raise Refused(f"its position is data, and the shapes of the {len(parts)} tensors differ: {[list(part.dims) for part in parts]}")
    place, inside = run_time.counted_from_front(run_time.integers(node, 1, "positions"), len(parts))
    run_time.symbols(node, run_time.valid_or_negative(place, inside), "position")     # a call with another one is an error
    stacked = relax.concat([relax.expand_dims(tensor, axis=[0]) for tensor in tensors], axis=0)
    return relax.take(stacked, relax.reshape(place, shape=[]), axis=0)


@op("SequenceInsert", 11)
def sequence_insert(node):
    """SequenceInsert, at a known position; without one at the end."""
    sequence = _sequence(node)
    length = len(sequence.parts)
    place = _position(node, 2, length, length + 1) if node.given(2) else length
    parts = [*sequence.parts[:place], node.value(1), *sequence.parts[place:]]
    return SequenceValue(parts, node.dtype(1) if not length else sequence.dtype)


@op("SequenceErase", 11)
def sequence_erase(node):
    """SequenceErase, at a known position; without one at the end."""
    sequence = _sequence(node)
    length = len(sequence.parts)
    if not length:
        raise Malformed("its sequence has no tensor to erase")
    place = _position(node, 1, length, length) if node.given(1) else length - 1
    return SequenceValue([part for number, part in enumerate(sequence.parts) if number != place], sequence.dtype)


@op("ConcatFromSequence", 11)
def concat_from_sequence(node):
    """ConcatFromSequence, along an axis or along a new one."""
    parts, is_new = _sequence(node).parts, node.flag("new_axis")
    if not parts:
        raise Malformed("its sequence has no tensors, so that the shape of the result is not known")
    axis = node.axis(node.integer("axis"), len(parts[0].dims) + is_new)
    tensors = [node.emit(part) for part in parts]
    tensors = [relax.expand_dims(tensor, axis=[axis]) for tensor in tensors] if is_new else tensors
    return relax.concat(tensors, axis=axis) if len(tensors) > 1 else tensors[0]


@op("SplitToSequence", 11, 24)
def split_to_sequence(node):
    """SplitToSequence: into parts of one size, of listed sizes, or of size 1, whose number is known."""
    axis, keeps = node.axis(node.integer("axis", 0), node.rank()), node.flag("keepdims", True)
    size, dtype = node.dims()[axis], node.dtype()
    if node.given(1) and len(node.dims(1)) == 1:
        if node.by_data(1):
            count = node.dims(1)[0]
            if not isinstance(count, int):
                raise Refused(f"the number of its parts, {count}, is known only at run time")
            return SequenceValue([ComputedValue(x) for x in split_by_data(node, [True] * count)], dtype)
        sizes = node.sizes(1, "the split")
        if isinstance(size, int) and all(isinstance(one, int) for one in sizes) and sum(sizes) != size:
            raise Malformed(f"split = {sizes} does not divide an axis of size {size}")
    else:
        part = node.ints(1, "the split")[0] if node.given(1) else 1
        if isinstance(size, Dim):
            raise Refused(f"an axis of size {size}, known only at run time, is split into parts: their number must be known")
        if part < 1:
            raise Malformed(f"split = {part}: a part has a size of 1 or more")
        sizes = [min(part, size - begin) for begin in range(0, size, part)]
    x, parts, begin = node.x(), [], 0
    for one in sizes:
        taken = relax.strided_slice(x, begin=[begin], end=[begin + one], axes=[axis])
        parts.append(taken if keeps or node.given(1) else relax.squeeze(taken, axis=[axis]))
        begin = begin + one
    if isinstance(begin, Dim) or isinstance(size, Dim):
        node.require_equal(begin, size, f"the sizes of its parts, {begin}, to be {size}, that of its axis {axis}")
    return SequenceValue([ComputedValue(part) for part in parts], dtype)


@op("Optional", 15, 28)
def optional(node):
    """Optional: its value, or an optional without one."""
    if not node.given(0):
        node.ignore("type")
        return EmptyOptional()
    node.ignore("type")
    return node.value(0)


@op("OptionalHasElement", 15, 18, 28)
def optional_has_element(node):
    """OptionalHasElement, which is known at import."""
    return np.array(node.given(0) and not isinstance(node.value(0), EmptyOptional))


@op("OptionalGetElement", 15, 18, 28)
def optional_get_element(node) -> Value:
    """OptionalGetElement: the value."""
    value = node.value(0)
    if isinstance(value, EmptyOptional):
        raise Malformed("its optional has no value")
    return value


ENTRIES = (
    sequence_empty, sequence_construct, sequence_length, sequence_at, sequence_insert, sequence_erase, concat_from_sequence,
    split_to_sequence, optional, optional_has_element, optional_get_element,
)  # fmt: skip

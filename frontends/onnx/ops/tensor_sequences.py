"""Sequences of tensors and optionals: lists where their lengths are known at import, else tensors that hold all of a sequence."""
import numpy as np
from onnx import TensorProto

from legato.dialects import relax
from legato.dialects.relax.dims import Dim, Size, floor_divide
from legato.frontends.onnx import packed, run_time
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.ops.run_time_slices import split_by_data
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.sequences import (
    DecidedOptional,
    ElementsNeeded,
    EmptyOptional,
    GrowingSequence,
    PackedSequence,
    SequenceValue,
    UnknownElements,
)
from legato.frontends.onnx.tensors import dtype_of
from legato.frontends.onnx.values import ComputedValue, Value


def _sequence(node, index: int = 0, reads: bool = False) -> "SequenceValue | PackedSequence":
    """An input that is a sequence; ``reads``: a tensor of it is read."""
    value = node.value(index)
    if isinstance(value, GrowingSequence):
        raise ElementsNeeded(value)
    if isinstance(value, DecidedOptional):
        raise Malformed(f"its input {index} is an optional, not a sequence")
    if not isinstance(value, (SequenceValue, PackedSequence)):
        raise Malformed(f"its input {index} is {'an empty optional' if isinstance(value, EmptyOptional) else 'a tensor'}, not a sequence")
    if reads and isinstance(value, UnknownElements):
        raise ElementsNeeded(value)
    return value


def _is_listed(node, sequence: "SequenceValue | PackedSequence", index: int) -> bool:
    """Whether a sequence's length and the position in it, an input if it is given, are known at import."""
    return isinstance(sequence, SequenceValue) and not (node.given(index) and _is_decided(node, index))


def _is_decided(node, index: int) -> bool:
    """Whether a call decides an input's elements, by its data or its sizes."""
    known = node.value(index).known()
    return known is None or known.dtype == object


def _position(node, index: int, length: int, count: int) -> int:
    """A place among ``count`` places of a sequence, counted from the front."""
    place = int(node.ints(index, "the position")[0])
    if not -length <= place < count:
        raise Malformed(f"position {place} is not in a sequence of {length} tensors")
    return place + length if place < 0 else place


@op("SequenceEmpty", 11)
def sequence_empty(node):
    """SequenceEmpty. Of an undefined type, as ONNX writes it for a SequenceMap whose body declares none, the first tensor has it."""
    return SequenceValue([], dtype_of(node.integer("dtype", TensorProto.FLOAT) or TensorProto.FLOAT))


@op("SequenceConstruct", 11)
def sequence_construct(node):
    """SequenceConstruct."""
    return SequenceValue([node.value(i) for i in range(len(node))], node.dtype())


@op("SequenceLength", 11)
def sequence_length(node):
    """SequenceLength: a constant, or a size."""
    return node.elements(np.array(_sequence(node).dims[0], object), np.int64)


@op("SequenceAt", 11)
def sequence_at(node):
    """SequenceAt."""
    sequence = _sequence(node, reads=True)
    if _is_listed(node, sequence, 1):
        return sequence.parts[_position(node, 1, len(sequence.parts), len(sequence.parts))]
    if sequence.dims[0] == 0:
        raise Malformed("its sequence has no tensors")
    sequence = packed.packed(node, sequence)
    return packed.tensor_at(node, sequence, packed.position(node, 1, sequence.length))


@op("SequenceInsert", 11)
def sequence_insert(node):
    """SequenceInsert, at a position; without one at the end."""
    grows, given = node.value(0), node.given(2)
    sequence = grows if isinstance(grows, GrowingSequence) and not given else _sequence(node)
    if sequence.dims[0] != 0 and sequence.dtype != node.dtype(1):
        raise Malformed(f"a tensor of {node.dtype(1)} is inserted in a sequence of {sequence.dtype}")
    if isinstance(sequence, GrowingSequence):
        return sequence.with_appended(node.value(1))
    if not _is_listed(node, sequence, 2):
        if isinstance(sequence, SequenceValue):
            element = packed.element_of(sequence) if sequence.parts else node.dims(1)
            sequence = packed.packed(node, SequenceValue(sequence.parts, node.dtype(1)), element)
        return packed.inserted(node, sequence, node.value(1), packed.position(node, 2, sequence.length, behind=True) if given else None)
    length = len(sequence.parts)
    place = _position(node, 2, length, length + 1) if given else length
    parts = [*sequence.parts[:place], node.value(1), *sequence.parts[place:]]
    return SequenceValue(parts, node.dtype(1) if not length else sequence.dtype)


@op("SequenceErase", 11)
def sequence_erase(node):
    """SequenceErase, at a position; without one at the end."""
    sequence = _sequence(node, reads=True)
    if sequence.dims[0] == 0:
        raise Malformed("its sequence has no tensor to erase")
    if not _is_listed(node, sequence, 1):
        sequence = packed.packed(node, sequence)
        return packed.erased(node, sequence, packed.position(node, 1, sequence.length) if node.given(1) else packed.last(node, sequence))
    length = len(sequence.parts)
    place = _position(node, 1, length, length) if node.given(1) else length - 1
    return SequenceValue([part for number, part in enumerate(sequence.parts) if number != place], sequence.dtype)


@op("ConcatFromSequence", 11)
def concat_from_sequence(node):
    """ConcatFromSequence, along an axis or along a new one."""
    sequence, is_new = _sequence(node, reads=True), node.flag("new_axis")
    if isinstance(sequence, PackedSequence):
        return packed.concatenated(node, sequence, node.axis(node.integer("axis"), len(sequence.element) + is_new), is_new)
    parts = sequence.parts
    if not parts:
        raise Malformed("its sequence has no tensors, so that the shape of the result is not known")
    axis = node.axis(node.integer("axis"), len(parts[0].dims) + is_new)
    tensors = [node.emit(part) for part in parts]
    tensors = [relax.expand_dims(tensor, axis=[axis]) for tensor in tensors] if is_new else tensors
    return relax.concat(tensors, axis=axis) if len(tensors) > 1 else tensors[0]


def _symbolic_parts(node, size: Size) -> list[Size]:
    """The parts of one symbolic size, if it fits into the axis a number of times that is known."""
    if not node.given(1) or node.by_data(1) or not isinstance(part := node.size(1, "the split"), Dim):
        return []
    count = floor_divide(size, part)
    return [part] * count if isinstance(count, int) and count * part == size else []


@op("SplitToSequence", 11, 24)
def split_to_sequence(node):
    """SplitToSequence: into parts of one size, of listed sizes, or of size 1."""
    axis, keeps = node.axis(node.integer("axis", 0), node.rank()), node.flag("keepdims", True)
    size, dtype = node.dims()[axis], node.dtype()
    is_list = node.given(1) and len(node.dims(1)) == 1
    known = [] if is_list else _symbolic_parts(node, size)
    if known:
        sizes = known
    elif not isinstance(node.dims(1)[0], int) if is_list else isinstance(size, Dim) or (node.given(1) and _is_decided(node, 1)):
        return packed.split(node, axis)
    elif is_list:
        if node.by_data(1):
            return SequenceValue([ComputedValue(x) for x in split_by_data(node, [True] * node.dims(1)[0])], dtype)
        sizes = node.sizes(1, "the split")
        if isinstance(size, int) and all(isinstance(one, int) for one in sizes) and sum(sizes) != size:
            raise Malformed(f"split = {sizes} does not divide an axis of size {size}")
    else:
        part = node.ints(1, "the split")[0] if node.given(1) else 1
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
    """OptionalHasElement: known at import, unless a branch or loop decides it."""
    value = node.value(0) if node.given(0) else EmptyOptional()
    return value.given if isinstance(value, DecidedOptional) else np.array(not isinstance(value, EmptyOptional))


@op("OptionalGetElement", 15, 18, 28)
def optional_get_element(node) -> Value:
    """OptionalGetElement: the value. A call in which it has none is an error."""
    value = node.value(0)
    if isinstance(value, EmptyOptional):
        raise Malformed("its optional has no value")
    if not isinstance(value, DecidedOptional):
        return value
    given = relax.astype(relax.reshape(value.given, shape=[1]), dtype=run_time.I64)
    run_time.symbols(node, relax.subtract(given, run_time.literal(1)), "value")
    return value.value


ENTRIES = (
    sequence_empty, sequence_construct, sequence_length, sequence_at, sequence_insert, sequence_erase, concat_from_sequence,
    split_to_sequence, optional, optional_has_element, optional_get_element,
)  # fmt: skip

"""Sequences and optionals during import. They have no form in the IR of their own: tensors stand for them there.

A sequence is a list of values where its length is known at import (``SequenceValue``); else its tensors lie in one tensor, with a table of
their sizes (``PackedSequence``). An optional without a value is ``EmptyOptional``, one with a value is that value; where a call decides, it
is a flag and a value (``DecidedOptional``).
"""
from collections.abc import Sequence
from math import prod

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.frontends.onnx.problems import Refused, TryAgain
from legato.frontends.onnx.values import Emitter, Value


class SequenceValue(Value):
    """A sequence of tensors, which may differ in their shapes. ``dims`` has its length."""

    def __init__(self, parts: Sequence[Value], dtype: np.dtype) -> None:
        self.parts, self.dtype, self.dims = list(parts), dtype, (len(parts),)

    def emit(self, emitter: Emitter) -> ir.Value:
        raise Refused(f"a sequence of {len(self.parts)} tensors is no tensor: only ops of sequences take it; ConcatFromSequence and "
                      "SequenceAt make tensors of it")


class UnknownElements(SequenceValue):
    """A sequence that is empty before a loop, in a trial of its first step: what tensors it will have is what the step appends."""

    def __init__(self, number: int, dtype: np.dtype) -> None:
        """``number``: which of the loop's states it is."""
        super().__init__([], dtype)
        self.number = number


class GrowingSequence(Value):
    """A sequence that a loop carries, in a step that only appends tensors to its end."""

    def __init__(self, number: int, before: Value, appended: Sequence[Value] = (), origin: "GrowingSequence | None" = None) -> None:
        """``number``: which of the loop's states it is; ``before``: the state before the loop; ``appended``: what the step has appended to
        ``origin``, the sequence that it was given."""
        self.number, self.before, self.appended, self.origin = number, before, list(appended), origin or self
        self.dtype = appended[0].dtype if appended else before.dtype
        self.dims = (0 if before.dims[0] == 0 and not appended else UNKNOWN,)

    def with_appended(self, value: Value) -> "GrowingSequence":
        """The sequence with another tensor at its end."""
        return GrowingSequence(self.number, self.before, [*self.appended, value], self.origin)


class ElementsNeeded(TryAgain):
    """A step of a loop needs more of a sequence than its trial knows: the loop tries another one, in which the sequence is carried, or has
    tensors as declared."""

    def __init__(self, sequence: "UnknownElements | GrowingSequence") -> None:
        super().__init__("the tensors of a sequence are not known yet")
        self.sequence = sequence.origin if isinstance(sequence, GrowingSequence) else sequence


class PackedSequence(Value):
    """A sequence of tensors of one rank, whose length may be known at run time only. ``dims`` has its length.

    ``element``: the sizes of its tensors, UNKNOWN along axes on which they differ. ``data``: the tensors stacked along a new axis 0 where
    none differs, joined along the axis where one does, flattened and joined where several do. ``table`` (int64) has the size along that
    axis of each tensor, [length], or the shape of each, [length, rank]; None for stacked tensors.
    """

    def __init__(self, data: ir.Value, table: ir.Value | None, element: Sequence[Size]) -> None:
        self.data, self.table, self.element = data, table, tuple(element)
        self.dtype, counted = relax.TensorType.of(data.type).dtype, data if table is None else table
        self.dims = (relax.TensorType.of(counted.type).dims[0],)

    @property
    def length(self) -> Size:
        """The number of its tensors."""
        return self.dims[0]

    @property
    def differing(self) -> list[int]:
        """The axes on which its tensors differ."""
        return differing(self.element)

    @property
    def axis(self) -> int:
        """The axis of ``data`` along which the tensors lie."""
        return self.differing[0] if len(self.differing) == 1 else 0

    def emit(self, emitter: Emitter) -> ir.Value:
        raise Refused(f"a sequence of {self.length} tensors is no tensor: only ops of sequences take it; ConcatFromSequence and SequenceAt "
                      "make tensors of it")


class EmptyOptional(Value):
    """An optional without a value; one with a value is that value."""

    dtype, dims = np.dtype(np.float32), ()

    def emit(self, emitter: Emitter) -> ir.Value:
        raise Refused("an optional without a value is no tensor")


class DecidedOptional(Value):
    """An optional of which a call decides whether it has a value: ``given`` (a boolean without dimensions), and the value, which means
    nothing where it has none."""

    def __init__(self, given: ir.Value, value: Value) -> None:
        self.given, self.value, self.dtype, self.dims = given, value, value.dtype, value.dims

    def emit(self, emitter: Emitter) -> ir.Value:
        raise Refused("whether its optional has a value is known only at run time: OptionalGetElement gives the value")


def differing(element: Sequence[Size]) -> list[int]:
    """The axes of which a sequence's tensors have sizes of their own."""
    return [axis for axis, size in enumerate(element) if size is UNKNOWN]


def common_element(a: Sequence[Size], b: Sequence[Size]) -> tuple[Size, ...]:
    """The sizes that two kinds of tensors have in common, UNKNOWN where they differ. Refused for tensors of different ranks."""
    if len(a) != len(b):
        raise Refused(f"tensors of {len(a)} and of {len(b)} dimensions are in one sequence whose length is known only at run time: there "
                      "all have one rank")
    return tuple(s if s == t else UNKNOWN for s, t in zip(a, b))


def shape_of_data(element: Sequence[Size]) -> tuple[Size, ...]:
    """The sizes of what lies in ``data`` of an empty sequence."""
    axes = differing(element)
    if not axes:
        return 0, *element
    return (0,) if len(axes) > 1 else tuple(0 if axis == axes[0] else size for axis, size in enumerate(element))


def elements_of(element: Sequence[Size]) -> Size:
    """The number of elements of a tensor of these sizes."""
    return prod(element, start=1)

"""Sequences and optionals during import. A sequence is a list of values whose length is known at import; it has no form in the IR."""
from collections.abc import Sequence

import numpy as np

from legato.core.mlir import ir
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.values import Emitter, Value


class SequenceValue(Value):
    """A sequence of tensors, which may differ in their shapes. ``dims`` has its length."""

    def __init__(self, parts: Sequence[Value], dtype: np.dtype) -> None:
        self.parts, self.dtype, self.dims = list(parts), dtype, (len(parts),)

    def emit(self, emitter: Emitter) -> ir.Value:
        raise Refused(f"a sequence of {len(self.parts)} tensors is no tensor: only ops of sequences take it; ConcatFromSequence and "
                      "SequenceAt make tensors of it")


class EmptyOptional(Value):
    """An optional without a value; one with a value is that value."""

    dtype, dims = np.dtype(np.float32), ()

    def emit(self, emitter: Emitter) -> ir.Value:
        raise Refused("an optional without a value is no tensor")


def flattened(values: Sequence[Value]) -> tuple[list[Value], list[tuple[int, np.dtype] | None]]:
    """The tensors in some values, and for each value the length and element type if it is a sequence."""
    flat = [part for value in values for part in (value.parts if isinstance(value, SequenceValue) else [value])]
    return flat, [(len(value.parts), value.dtype) if isinstance(value, SequenceValue) else None for value in values]


def restored(flat: Sequence[Value], forms: Sequence[tuple[int, np.dtype] | None]) -> list[Value]:
    """The values of which ``flattened`` gave the tensors."""
    tensors = iter(flat)
    return [next(tensors) if form is None else SequenceValue([next(tensors) for _ in range(form[0])], form[1]) for form in forms]

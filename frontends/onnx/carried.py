"""Values that go in and out of branches and loops: each as the tensors that stand for it, and a form that says what they are.

What the two branches give, or a loop carries, has one form: a sequence of unknown length where lengths differ, an optional that has a value
or not where only one side has one.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, Size
from legato.frontends.onnx import packed
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.sequences import (
    DecidedOptional,
    ElementsNeeded,
    EmptyOptional,
    GrowingSequence,
    PackedSequence,
    SequenceValue,
    common_element,
    differing,
)
from legato.frontends.onnx.values import ComputedValue, Value


@dataclass(frozen=True)
class TensorForm:
    """A tensor."""

    dtype: np.dtype
    dims: tuple[Size, ...]


@dataclass(frozen=True)
class ListForm:
    """A sequence of known length: the sizes of each tensor."""

    dtype: np.dtype
    parts: tuple[tuple[Size, ...], ...]


@dataclass(frozen=True)
class PackedForm:
    """A sequence of unknown length: the sizes that its tensors have in common."""

    dtype: np.dtype
    element: tuple[Size, ...]


@dataclass(frozen=True)
class NoneForm:
    """An optional without a value."""


@dataclass(frozen=True)
class OptionalForm:
    """An optional that has a value of this form, or none."""

    inner: "TensorForm | ListForm | PackedForm"


Form = TensorForm | ListForm | PackedForm | NoneForm | OptionalForm


def form_of(value: Value, known: Callable[[Sequence[Size]], tuple[Size, ...]] = tuple) -> Form:
    """The form of a value. ``known``: sizes without those that are not known where the value goes."""
    if isinstance(value, EmptyOptional):
        return NoneForm()
    if isinstance(value, DecidedOptional):
        inner = form_of(value.value, known)
        assert not isinstance(inner, (NoneForm, OptionalForm))
        return OptionalForm(inner)
    if isinstance(value, GrowingSequence):
        raise ElementsNeeded(value)
    if isinstance(value, PackedSequence):
        return PackedForm(value.dtype, known(value.element))
    if isinstance(value, SequenceValue):
        return ListForm(value.dtype, tuple(known(part.dims) for part in value.parts))
    return TensorForm(value.dtype, known(value.dims))


def common_form(a: Form, b: Form) -> Form:
    """The form of a value that is one of two. Refused for sequences of tensors of different ranks, Malformed for values of other kinds."""
    if a == b:
        return a
    if isinstance(a, (NoneForm, OptionalForm)) or isinstance(b, (NoneForm, OptionalForm)):
        inner = [form.inner if isinstance(form, OptionalForm) else form for form in (a, b) if not isinstance(form, NoneForm)]
        whole = inner[0] if len(inner) == 1 else common_form(*inner)
        assert not isinstance(whole, (NoneForm, OptionalForm))
        return OptionalForm(whole)
    if isinstance(a, TensorForm) and isinstance(b, TensorForm):
        return TensorForm(a.dtype, common_element(a.dims, b.dims)) if len(a.dims) == len(b.dims) else a
    if isinstance(a, TensorForm) or isinstance(b, TensorForm):
        raise Malformed("it gives a tensor in one place and a sequence in another")
    if isinstance(a, ListForm) and isinstance(b, ListForm) and len(a.parts) == len(b.parts):
        return a
    empty = [isinstance(form, ListForm) and not form.parts for form in (a, b)]
    if empty[0] or empty[1]:    # the element type of an empty sequence may be a default
        return packed_form(a if empty[1] else b)
    if a.dtype != b.dtype:
        raise Malformed(f"it gives sequences of {a.dtype} and of {b.dtype}")
    first, second = packed_form(a), packed_form(b)
    return PackedForm(a.dtype, common_element(first.element, second.element))


def packed_form(form: "ListForm | PackedForm") -> PackedForm:
    """The form of unknown length of a sequence that is not empty."""
    if isinstance(form, PackedForm):
        return form
    element = form.parts[0]
    for part in form.parts[1:]:
        element = common_element(element, part)
    return PackedForm(form.dtype, element)


def tensors_of(node: OnnxNode, values: Sequence[Value], forms: Sequence[Form]) -> list[ir.Value]:
    """The tensors that stand for values of these forms, or of narrower ones, built at the insertion point."""
    return [tensor for value, form in zip(values, forms, strict=True) for tensor in _tensors(node, value, form)]


def known_outside(node: OnnxNode, values: Sequence[Value]) -> list[Form]:
    """The forms of values, with the sizes that are known outside of the region around the insertion point."""
    return [form_of(value, lambda sizes: packed.known_outside(node, sizes)) for value in values]


def widens(old: Form, new: Form) -> bool:
    """Whether a form is another kind of tensors than before; a tensor's sizes are the region's own matter."""
    if isinstance(old, OptionalForm) and isinstance(new, OptionalForm):
        return widens(old.inner, new.inner)
    if isinstance(old, TensorForm) and isinstance(new, TensorForm):
        return False
    return old != new


def values_of(forms: Sequence[Form], tensors: Sequence[ir.Value]) -> list[Value]:
    """The values for which tensors stand."""
    left = iter(tensors)
    return [_value(form, left) for form in forms]


def axes_of_length(form: Form) -> list[int | None]:
    """For each tensor that stands for a value of this form the axis along which a sequence's tensors lie; None if there is none."""
    if isinstance(form, OptionalForm):
        return [None, *axes_of_length(form.inner)]
    if isinstance(form, PackedForm):
        axes = differing(form.element)
        return [0] if not axes else [axes[0] if len(axes) == 1 else 0, 0]
    return [] if isinstance(form, NoneForm) else [None] * (len(form.parts) if isinstance(form, ListForm) else 1)


def _value(form: Form, tensors: Iterator[ir.Value]) -> Value:
    if isinstance(form, NoneForm):
        return EmptyOptional()
    if isinstance(form, OptionalForm):
        return DecidedOptional(next(tensors), _value(form.inner, tensors))
    if isinstance(form, ListForm):
        return SequenceValue([ComputedValue(next(tensors)) for _ in form.parts], form.dtype)
    if isinstance(form, PackedForm):
        return PackedSequence(next(tensors), next(tensors) if UNKNOWN in form.element else None, form.element)
    return ComputedValue(next(tensors))


def _tensors(node: OnnxNode, value: Value, form: Form) -> list[ir.Value]:
    if isinstance(form, NoneForm):
        return []
    if isinstance(form, OptionalForm):
        if isinstance(value, DecidedOptional):
            return [value.given, *_tensors(node, value.value, form.inner)]
        given = not isinstance(value, EmptyOptional)
        return [node.literal(given), *(_tensors(node, value, form.inner) if given else _zeros(node, form.inner))]
    if isinstance(form, PackedForm):
        assert isinstance(value, (SequenceValue, PackedSequence))
        sequence = packed.packed(node, value if value.dims[0] != 0 else SequenceValue([], form.dtype), form.element)
        return [sequence.data] if sequence.table is None else [sequence.data, sequence.table]
    return [node.emit(part) for part in value.parts] if isinstance(value, SequenceValue) else [node.emit(value)]


def _zeros(node: OnnxNode, form: "TensorForm | ListForm | PackedForm") -> list[ir.Value]:
    """Tensors in place of a value that is not there: of zeros, and without elements where sizes are not known."""
    if isinstance(form, PackedForm):
        return _tensors(node, SequenceValue([], form.dtype), form)
    shapes = [form.dims] if isinstance(form, TensorForm) else form.parts
    return [relax.broadcast_to(node.literal(0, form.dtype), shape=[0 if size is UNKNOWN else size for size in shape]) for shape in shapes]

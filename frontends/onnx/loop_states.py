"""What a loop of main carries: its states as tensors, of which the forms and types are found by trials of a step."""
from collections.abc import Callable, Sequence
from typing import TypeVar

import onnx

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx import packed
from legato.frontends.onnx.carried import (
    Form,
    ListForm,
    PackedForm,
    axes_of_length,
    common_form,
    form_of,
    known_outside,
    packed_form,
    tensors_of,
    values_of,
    widens,
)
from legato.frontends.onnx.node import OnnxNode
from legato.frontends.onnx.problems import Refused, TryAgain
from legato.frontends.onnx.sequences import ElementsNeeded, GrowingSequence, PackedSequence, SequenceValue, UnknownElements
from legato.frontends.onnx.tensors import dtype_of
from legato.frontends.onnx.values import Value

Result = TypeVar("Result")


class OtherForms(TryAgain):
    """What a step gives does not have the forms in which its loop carries it; ``forms`` are those that fit both."""

    def __init__(self, forms: list[Form]) -> None:
        super().__init__("values of other forms")
        self.forms = forms


class LoopStates:
    """The states of a loop.

    A sequence to whose end the body only appends tensors of one shape is not carried: what a step appends is stacked like a scanned output,
    since carrying it would copy the whole sequence in each step. Other sequences are carried with all their tensors.
    """

    def __init__(self, node: OnnxNode, values: Sequence[Value], declared: Sequence[onnx.TypeProto], stacks: bool) -> None:
        """``declared``: the types that the body's graph says of the states; ``stacks``: whether it is known how many steps there are at
        most. Refused for a sequence of tensors of different ranks."""
        self._node, self._values, self._declared = node, list(values), declared
        self._forms = [packed_form(form) if isinstance(form, ListForm) and form.parts else form for form in map(form_of, values)]
        self._growing = [number for number, form in enumerate(self._forms) if stacks and _can_grow(form)]
        self._trials: list[UnknownElements | GrowingSequence] = []

    @property
    def count(self) -> int:
        """The number of states."""
        return len(self._values)

    def settled(self, attempt: Callable[[list[ir.Value]], Result]) -> Result:
        """What ``attempt`` gives for the tensors before the loop, tried again while its steps give values of other forms."""
        while True:
            try:
                return attempt(tensors_of(self._node, self._carried(self._values), self._carried(self._forms)))
            except OtherForms as other:
                for number, form in zip(self._carried(range(self.count)), other.forms, strict=True):
                    self._forms[number] = form
            except ElementsNeeded as needed:
                if not any(needed.sequence is one for one in self._trials):
                    raise
                if isinstance(needed.sequence, GrowingSequence):
                    self._growing.remove(needed.sequence.number)
                else:
                    self._forms[needed.sequence.number] = self._declared_form(needed.sequence)

    def types(self, tensors: Sequence[ir.Value]) -> list[TensorType]:
        """The types of the tensors that the loop carries, UNKNOWN for what depends on a sequence's length."""
        found = []
        left = (TensorType.of(tensor.type) for tensor in tensors)
        for form in self._carried(self._forms):
            axes = axes_of_length(form)
            own = [next(left) for _ in axes]
            found += [type_ if axis is None else type_.with_dims([UNKNOWN if a == axis else size for a, size in enumerate(type_.dims)])
                      for type_, axis in zip(own, axes)]
        return found

    def given(self, tensors: Sequence[ir.Value]) -> list[Value]:
        """The values of all states in a step, of the tensors that the loop carries."""
        carried = iter(values_of(self._carried(self._forms), tensors))
        values: list[Value] = []
        for number in range(self.count):
            value = GrowingSequence(number, self._values[number]) if number in self._growing else next(carried)
            if isinstance(value, SequenceValue) and not value.parts:
                value = UnknownElements(number, value.dtype)
            if isinstance(value, (GrowingSequence, UnknownElements)):
                self._trials.append(value)
            values.append(value)
        return values

    def after(self, values: Sequence[Value]) -> tuple[list[ir.Value], list[ir.Value]]:
        """The tensors to carry of the values that a step gives, and the slices to stack. OtherForms where the forms are wider."""
        slices = [self._appended(number, values[number]) for number in self._growing]
        carried, forms = self._carried(values), self._carried(self._forms)
        wider = [common_form(form, own) for form, own in zip(forms, known_outside(self._node, carried), strict=True)]
        if any(widens(old, new) for old, new in zip(forms, wider)):
            raise OtherForms(wider)
        return tensors_of(self._node, carried, forms), slices

    def results(self, tensors: Sequence[ir.Value], stacks: Sequence[ir.Value]) -> tuple[list[Value], list[ir.Value]]:
        """The values of all states behind the loop, of the carried tensors and of what is stacked; and the rest of what is stacked, which
        is in front of what ``after`` gave."""
        carried = iter(values_of(self._carried(self._forms), tensors))
        first = len(stacks) - len(self._growing)
        grown = {number: self._grown(number, stack) for number, stack in zip(self._growing, stacks[first:], strict=True)}
        return [grown[number] if number in grown else next(carried) for number in range(self.count)], list(stacks[:first])

    def _carried(self, values: Sequence) -> list:
        return [value for number, value in enumerate(values) if number not in self._growing]

    def _appended(self, number: int, value: Value) -> ir.Value:
        """The tensors that a step appends to a growing sequence, stacked."""
        trial = next(one for one in reversed(self._trials) if isinstance(one, GrowingSequence) and one.number == number)
        if not isinstance(value, GrowingSequence) or value.origin is not trial or not value.appended:
            raise ElementsNeeded(trial)
        form = self._forms[number]
        elements = {form.element} if isinstance(form, PackedForm) else set()
        elements |= {packed.known_outside(self._node, part.dims) for part in value.appended}
        if len(elements) > 1 or UNKNOWN in next(iter(elements)):
            raise ElementsNeeded(trial)
        return packed.packed(self._node, SequenceValue(value.appended, value.dtype), next(iter(elements))).data

    def _grown(self, number: int, stack: ir.Value) -> PackedSequence:
        """A growing sequence behind the loop, of what its steps appended: [steps, tensors of a step, ...]."""
        steps, each, *element = TensorType.of(stack.type).dims
        data = relax.reshape(stack, shape=[steps * each, *element])
        form = self._forms[number]
        if isinstance(form, PackedForm):
            data = relax.concat([tensors_of(self._node, [self._values[number]], [form])[0], data], axis=0)
        return PackedSequence(data, None, element)

    def _declared_form(self, sequence: UnknownElements) -> PackedForm:
        """The form of an empty sequence of which the body's graph says what tensors it will have. Refused where it does not."""
        type_ = self._declared[sequence.number]
        element = type_.sequence_type.elem_type.tensor_type
        if type_.WhichOneof("value") != "sequence_type" or not element.HasField("shape"):
            raise Refused(f"it carries a sequence, state {sequence.number}, that is empty before it, and its body reads a tensor of it "
                          "before it appends one: declare the shape of the sequence's tensors in the body's input")
        sizes = (dim.dim_value if dim.HasField("dim_value") else UNKNOWN for dim in element.shape.dim)
        return PackedForm(dtype_of(element.elem_type), tuple(sizes))


def _can_grow(form: Form) -> bool:
    """Whether what is appended to a state may be stacked: of a sequence of tensors of one shape, or an empty one."""
    return UNKNOWN not in form.element if isinstance(form, PackedForm) else isinstance(form, ListForm)

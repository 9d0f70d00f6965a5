"""Inputs and outputs of a model that are sequences of tensors, or optionals: in main each tensor is an argument or a result of its own.

How many tensors a sequence has, and whether an optional has a value, is known at import of inputs, by ``shapes``; of outputs the graph
computes it, and a call may decide it: main gives such an output in a layout. What a caller sees is on main (``relax.input_forms``,
``relax.output_forms``).
"""
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

import onnx

from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.frontends.onnx.inputs import ANY_SIZE
from legato.frontends.onnx.problems import Malformed, Problem, Problems, Refused
from legato.frontends.onnx.sequences import DecidedOptional, EmptyOptional, PackedSequence, SequenceValue
from legato.frontends.onnx.tensors import code_of, dtype_of
from legato.frontends.onnx.values import POISON, ComputedValue, Value

NONE, RUN_TIME = -1, -2

Shape = Sequence[int | str]
Shapes = Mapping[str, "Sequence[int | str | Shape] | int | None"]   # one Sequence, which mypy infers lists for


@dataclass(frozen=True)
class ModelForm:
    """A model's input or output. ``count``: the tensors of a sequence, NONE for an optional without a value, RUN_TIME for an output in the
    ``layout`` (runtime/forms.py), None for a tensor."""

    name: str
    count: int | None = None
    layout: str = ""

    @property
    def parts(self) -> list[str]:
        """The names of its tensors."""
        return [self.name] if self.count is None else [f"{self.name}[{number}]" for number in range(max(self.count, 0))]

    def attribute(self) -> ir.ArrayAttr:
        """The row for main's attribute: the name, and the count if it is no tensor."""
        i64 = ir.IntegerType.get_signless(64)
        count = [] if self.count is None else [ir.IntegerAttr.get(i64, self.count)]
        layout = [ir.StringAttr.get(self.layout)] if self.layout else []
        return ir.ArrayAttr.get([ir.StringAttr.get(self.name), *count, *layout])


def rows(forms: Sequence[ModelForm]) -> ir.ArrayAttr | None:
    """Main's attribute; None if all are tensors."""
    return None if all(form.count is None for form in forms) else ir.ArrayAttr.get([form.attribute() for form in forms])


def tensor_of(type_: onnx.TypeProto) -> onnx.TypeProto:
    """The type inside of optionals and sequences."""
    kind = type_.WhichOneof("value")
    if kind == "optional_type":
        return tensor_of(type_.optional_type.elem_type)
    return tensor_of(type_.sequence_type.elem_type) if kind == "sequence_type" else type_


def is_sequence(type_: onnx.TypeProto) -> bool:
    """Whether a type is a sequence, or an optional one."""
    kind = type_.WhichOneof("value")
    return is_sequence(type_.optional_type.elem_type) if kind == "optional_type" else kind == "sequence_type"


class Inputs:
    """A model's inputs as tensors: ``tensors`` and their ``shapes``, named after the input (``images[0]``), and the ``forms``."""

    def __init__(self, values: Sequence[onnx.ValueInfoProto], shapes: Shapes | None, problems: Problems,
                 constants: Collection[str] = ()) -> None:
        """``constants``: the names of inputs that are none here. LegatoError if ``shapes`` does not fit the model. What cannot be imported
        is added to the problems."""
        self._values, self._problems = {value.name: value for value in values}, problems
        self.forms: list[ModelForm] = []
        self.tensors: list[onnx.ValueInfoProto] = []
        self.shapes: dict[str, Shape] = {}
        if shapes is not None and not isinstance(shapes, Mapping):
            raise LegatoError(f"shapes= is a map from names of inputs to shapes, {{'x': [1, 'n']}}, not {shapes!r}")
        given = dict(shapes or {})
        unknown = given.keys() - self._values.keys()
        if unknown:
            inputs = ", ".join(self._values) or "none"
            if min(unknown) in constants:
                raise LegatoError(f"shapes: the input '{min(unknown)}' has an initializer, so it is a constant; it is an input with "
                                  f"from_onnx(..., overridable=['{min(unknown)}'])")
            raise LegatoError(f"shapes: there is no input '{min(unknown)}'; the inputs are: {inputs}")
        for value in values:
            self._add(value, value.name in given, given.get(value.name))

    def _add(self, value: onnx.ValueInfoProto, is_given: bool, shape) -> None:
        if is_given and shape is None:
            if value.type.WhichOneof("value") != "optional_type":
                raise LegatoError(f"shapes: the input '{value.name}' is given as None, which only an optional can be")
            self.forms.append(ModelForm(value.name, NONE))
        elif is_sequence(value.type):
            self._add_sequence(value, shape)
        else:
            if isinstance(shape, str):
                raise LegatoError(f"shapes: the input '{value.name}': a shape is a list of sizes, not the text {shape!r}")
            if isinstance(shape, int) or (is_given and any(isinstance(size, (list, tuple)) for size in shape)):
                raise LegatoError(f"shapes: the input '{value.name}' is no sequence, so it has one shape, a list of sizes, not {shape}")
            odd = next((size for size in shape or () if not isinstance(size, (int, str, Integral))), None)
            if odd is not None or (is_given and None in shape):
                raise LegatoError(f"shapes: the input '{value.name}': a size is a number of 0 or more, or a name, not {odd}")
            self.forms.append(ModelForm(value.name))
            self.tensors.append(value)
            if is_given:
                self.shapes[value.name] = shape

    def _add_sequence(self, value: onnx.ValueInfoProto, shape) -> None:
        name = value.name
        if shape is None:
            reason = (f"it is a sequence: say how many tensors it has, or their shapes: shapes={{'{name}': 2}} or "
                      f"shapes={{'{name}': [['n', 3], ['m', 3]]}}")
            self._problems.append(Problem(name, "input", "", None, reason))
            return
        if not isinstance(shape, int) and any(isinstance(part, (int, str)) for part in shape):
            raise LegatoError(f"shapes: the input '{name}' is a sequence: give the number of its tensors, or a list of their shapes, "
                              f"not {list(shape)}")
        form = ModelForm(name, shape if isinstance(shape, int) else len(shape))
        if isinstance(shape, int) and shape < 0:
            raise LegatoError(f"shapes: the input '{name}' gets {shape} tensors: expected 0 or more")
        self.forms.append(form)
        for number, part in enumerate(form.parts):
            tensor = onnx.ValueInfoProto(name=part, type=tensor_of(value.type))
            for dim in tensor.type.tensor_type.shape.dim:
                if dim.dim_param not in ANY_SIZE:   # the tensors of a sequence may differ in their sizes
                    dim.dim_param = f"{dim.dim_param}_{number}"
            self.tensors.append(tensor)
            if not isinstance(shape, int):
                self.shapes[part] = shape[number]

    def values(self, tensors: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
        """Each input by name, of the values of its tensors. POISON where there is a problem."""
        known = {form.name: form for form in self.forms}
        for name, value in self._values.items():
            form = known.get(name)
            parts = [tensors[part] for part in form.parts] if form is not None else [POISON]
            if any(part is POISON for part in parts):
                yield name, POISON
            elif form is None or form.count is None:
                yield name, parts[0]
            elif form.count == NONE:
                yield name, EmptyOptional()
            else:
                try:
                    yield name, SequenceValue(parts, dtype_of(tensor_of(value.type).tensor_type.elem_type))
                except (Refused, Malformed) as problem:
                    self._problems.append(Problem(name, "input", "", None, str(problem), isinstance(problem, Malformed)))
                    yield name, POISON


Typed = tuple[onnx.ValueInfoProto, Value]


def outputs(declared: Sequence[onnx.ValueInfoProto], values: Sequence[Value]) -> tuple[list[ModelForm], list[Typed]]:
    """The forms of a model's outputs, and their tensors with the types that the model declares of them."""
    forms, found = [], []
    for one, value in zip(declared, values):
        type_ = tensor_of(one.type)
        if isinstance(value, (PackedSequence, DecidedOptional)):
            layout, tensors = _laid_out(one.name, type_, value)
            forms.append(ModelForm(one.name, RUN_TIME, layout))
            found += tensors
            continue
        count = len(value.parts) if isinstance(value, SequenceValue) else NONE if isinstance(value, EmptyOptional) else None
        forms.append(ModelForm(one.name, count))
        parts = value.parts if isinstance(value, SequenceValue) else [] if count == NONE else [value]
        found += [(onnx.ValueInfoProto(name=name, type=type_), part) for name, part in zip(forms[-1].parts, parts)]
    return forms, found


def _laid_out(name: str, type_: onnx.TypeProto, value: Value) -> tuple[str, list[Typed]]:
    """The layout of an output whose number of tensors a call decides, and its tensors."""
    if isinstance(value, DecidedOptional):
        layout, tensors = _laid_out(name, type_, value.value)
        return f"optional {layout}", [(_typed(f"{name}.given", onnx.TensorProto.BOOL), ComputedValue(value.given)), *tensors]
    if isinstance(value, SequenceValue):
        parts = [(onnx.ValueInfoProto(name=f"{name}[{number}]", type=type_), part) for number, part in enumerate(value.parts)]
        return f"list {len(parts)}", parts
    if not isinstance(value, PackedSequence):
        return "tensor", [(onnx.ValueInfoProto(name=name, type=type_), value)]
    code = type_.tensor_type.elem_type or code_of(value.dtype)
    data = (_typed(f"{name}.data", code), ComputedValue(value.data))
    if value.table is None:
        return "stacked", [data]
    layout = "flat" if len(value.differing) > 1 else f"joined {value.axis}"
    return layout, [data, (_typed(f"{name}.sizes", onnx.TensorProto.INT64), ComputedValue(value.table))]


def _typed(name: str, code: int) -> onnx.ValueInfoProto:
    """A tensor of an element type, and any shape."""
    return onnx.helper.make_tensor_value_info(name, code, None)

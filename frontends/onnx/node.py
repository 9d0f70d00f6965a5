"""An ONNX node as an entry of the op table sees it: what it reads is checked, and what nobody reads is noticed."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.values import Constant, Emitter, Narrow, Value, elements, size_array

Body = Callable[[Sequence[Value]], list[Value]]  # a graph that is an attribute: what it gives for its inputs

_REQUIRED = object()
_FIELDS = {
    AttributeProto.FLOAT: ("f", "a float"),
    AttributeProto.INT: ("i", "an int"),
    AttributeProto.STRING: ("s", "a string"),
    AttributeProto.TENSOR: ("t", "a tensor"),
    AttributeProto.GRAPH: ("g", "a graph"),
    AttributeProto.FLOATS: ("floats", "a list of floats"),
    AttributeProto.INTS: ("ints", "a list of ints"),
    AttributeProto.STRINGS: ("strings", "a list of strings"),
}


class Node:
    """One node: its inputs as values, its attributes as Python values.

    ``version`` is the since-version of the op that the node's opset means. Every attribute and every input has to be read (or ignored, in
    so many words): what is left over makes the importer refuse the node.
    """

    def __init__(
        self,
        proto: NodeProto,
        version: int,
        inputs: Sequence[Value | None],
        attributes: dict[str, AttributeProto],
        used: Sequence[bool],
        emitter: Emitter,
        load: Callable[[TensorProto, str], Constant],
        body: Callable[[GraphProto], Body],
    ):
        """``used`` says of each output whether anything reads it; ``load`` makes a tensor a constant; ``body`` makes a graph a function
        whose calls import it here."""
        self.op_type, self.version, self.used = proto.op_type, version, list(used)
        self.name = next((name for name in proto.output if name), proto.op_type)  # what constants made for this node are called
        self._inputs, self._attributes, self._emitter, self._load = list(inputs), attributes, emitter, load
        self.body = body
        self._read_inputs: set[int] = set()
        self._read_attributes: set[str] = set()

    # attributes

    def has(self, name: str) -> bool:
        """Whether the node has the attribute; this does not count as reading it."""
        return name in self._attributes

    def integer(self, name: str, default: Any = _REQUIRED) -> int:
        return self._attribute(name, AttributeProto.INT, default)

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: Any = _REQUIRED) -> float:
        return self._attribute(name, AttributeProto.FLOAT, default)

    def integers(self, name: str, default: Any = _REQUIRED) -> Any:
        """A list of ints, or the default."""
        value = self._attribute(name, AttributeProto.INTS, default)
        return value if value is None else list(value)

    def numbers(self, name: str, default: Any = _REQUIRED) -> list[float]:
        return list(self._attribute(name, AttributeProto.FLOATS, default))

    def strings(self, name: str, default: list[str]) -> list[str]:
        """A list of strings, or the default."""
        values = self._attribute(name, AttributeProto.STRINGS, default)
        return [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]

    def text(self, name: str, default: str, *others: str) -> str:
        """A string among the default and the others; Refused if it is another."""
        value = self._attribute(name, AttributeProto.STRING, default)
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if value not in (default, *others):
            raise Refused(f"{name} = '{value}' is not supported, only {' and '.join(repr(v) for v in (default, *others))}")
        return value

    def string(self, name: str) -> str:
        """Any string; the node needs to have it."""
        return self._attribute(name, AttributeProto.STRING, _REQUIRED).decode("utf-8", "replace")

    def tensor(self, name: str) -> Constant:
        """A tensor; the node needs to have it."""
        return self._load(self._attribute(name, AttributeProto.TENSOR, _REQUIRED), self.name)

    def graph(self, name: str):
        """A GraphProto."""
        return self._attribute(name, AttributeProto.GRAPH, _REQUIRED)

    def only(self, name: str, default: int | float | str) -> None:
        """Refused if the attribute is there and is anything but the default."""
        read = {int: self.integer, float: self.number}.get(type(default), self.text)
        value = read(name, default)
        if value != default:
            raise Refused(f"{name} = {value} is not supported, only {default}")

    def ignore(self, *names: str) -> None:
        """These attributes have no effect on the results."""
        self._read_attributes.update(names)

    def ignore_input(self, index: int) -> None:
        """This input has no effect on the results."""
        self._read_inputs.add(index)

    def _attribute(self, name: str, kind: int, default: Any) -> Any:
        self._read_attributes.add(name)
        attribute = self._attributes.get(name)
        if attribute is None:
            if default is _REQUIRED:
                raise Malformed(f"it needs the attribute '{name}'")
            return default
        field, what = _FIELDS[kind]
        if attribute.type != kind:
            raise Malformed(f"attribute '{name}' must be {what}, found {AttributeProto.AttributeType.Name(attribute.type).lower()}")
        return getattr(attribute, field)

    # inputs

    def __len__(self) -> int:
        """How many inputs are written down, those left out among them included."""
        return len(self._inputs)

    def given(self, index: int) -> bool:
        """Whether the input is there; this does not count as reading it."""
        return index < len(self._inputs) and self._inputs[index] is not None

    def value(self, index: int) -> Value:
        """The input; Malformed if it is left out."""
        self._read_inputs.add(index)
        value = self._inputs[index] if index < len(self._inputs) else None
        if value is None:
            raise Malformed(f"it needs an input {index}")
        return value

    def x(self, index: int = 0) -> ir.Value:
        """The input as a tensor in the IR."""
        return self.value(index).emit(self._emitter)

    def widen(self, *indices: int) -> None:
        """Takes these inputs as bytes, where they have fewer than 8 bits an element: only their numbers matter to the op."""
        for index in indices:
            if self.given(index) and isinstance(value := self._inputs[index], Narrow):
                self._inputs[index] = value.widened()

    def emit(self, value: Value) -> ir.Value:
        """Any value as a tensor in the IR."""
        return value.emit(self._emitter)

    def xs(self) -> list[ir.Value]:
        """All inputs as tensors in the IR."""
        return [self.x(index) for index in range(len(self))]

    def dtype(self, index: int = 0) -> np.dtype:
        return self.value(index).dtype

    def dims(self, index: int = 0) -> tuple[Size, ...]:
        return self.value(index).dims

    def rank(self, index: int = 0) -> int:
        return len(self.value(index).dims)

    def constant(self, index: int, what: str) -> np.ndarray:
        """The elements of an input that has to be known at import, as ``what`` says it is called."""
        value = self.value(index)
        array = getattr(value, "array", None)
        if array is None or array.dtype == object:
            raise Refused(f"{what} is computed at run time; only a constant is supported")
        return array

    def scalar(self, index: int, what: str) -> Any:
        """The one element of a constant input, as a Python value."""
        array = self.constant(index, what)
        if array.size != 1:
            raise Malformed(f"{what} must have one element, has shape {list(array.shape)}")
        return array.item()

    def known(self, index: int, what: str) -> np.ndarray:
        """The elements of an input, an array of objects if some are symbolic sizes. Refused if they depend on data."""
        array = self.value(index).known()
        if array is None:
            raise Refused(f"{what} depends on the data at run time; only constants and what is computed from shapes are supported")
        return array

    def sizes(self, index: int, what: str) -> list[Size]:
        """The elements of a vector of integers, symbolic sizes included. Refused if they depend on data."""
        array = self.known(index, what)
        if array.dtype.kind not in "iuO" or (array.ndim != 1 and array.size != 1):
            raise Malformed(f"{what} must be a vector of integers, is {list(array.shape)} of {array.dtype}")
        return array.ravel().tolist()

    def ints(self, index: int, what: str) -> list[int]:
        """The elements of a vector that must be plain ints."""
        values = self.sizes(index, what)
        if not all(isinstance(value, int) for value in values):
            raise Refused(f"{what} = {values} is known only at run time")
        return [int(value) for value in values if isinstance(value, int)]

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front. Malformed if there is no such axis."""
        if not -rank <= value < rank:
            raise Malformed(f"there is no axis {value} in a tensor of rank {rank}")
        return value % rank

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Axes counted from the front, in their order. Malformed if one is named twice."""
        result = [self.axis(value, rank) for value in values]
        if len(set(result)) != len(result):
            raise Malformed(f"axes {list(values)} name one axis twice")
        return result

    # outputs

    def vector(self, values: Sequence[Size]) -> Value:
        """Sizes as what ``Shape`` gives: a vector of int64, to be returned as an output."""
        return elements(size_array(values), np.int64, self.name)

    def elements(self, array: np.ndarray, dtype) -> Value:
        """Elements that are known, or symbolic sizes, as an output of an element type."""
        return elements(array, dtype, self.name)

    def constant_value(self, array: np.ndarray) -> ir.Value:
        """A constant made for this node, in the IR or in the weight store as its size asks for."""
        return Constant(self.name, array).emit(self._emitter)

    def literal(self, array, dtype=None) -> ir.Value:
        """A small constant in the IR that the node did not have: an operand of what it becomes."""
        return relax.constant(np.asarray(array, dtype))

    # what is left over

    def known_inputs(self) -> list[np.ndarray | None] | None:
        """The elements of all inputs (None for one left out), or None if not all of them are known. Counts as reading them."""
        arrays = [None if value is None else value.known() for value in self._inputs]
        if any(array is None and value is not None for array, value in zip(arrays, self._inputs)):
            return None
        return arrays

    def read_all_inputs(self) -> None:
        self._read_inputs.update(range(len(self._inputs)))

    def check_all_read(self) -> None:
        """Refused if an attribute or input was not read: what it asks for was not done."""
        attributes = sorted(self._attributes.keys() - self._read_attributes)
        if attributes:
            raise Refused(f"attribute{'s' * (len(attributes) > 1)} {', '.join(map(repr, attributes))} of {self.op_type} is not supported")
        inputs = [index for index in range(len(self._inputs)) if self.given(index) and index not in self._read_inputs]
        if inputs:
            raise Refused(f"input {inputs[0]} of {self.op_type} is not supported")

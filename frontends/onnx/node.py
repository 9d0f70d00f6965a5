"""An ONNX node as the op table's entries see it: typed access to inputs and attributes, which detects those that are never read."""
import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, helper

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.assumed import never_equal
from legato.dialects.relax.dims import UNKNOWN, Dim, Size, maximum
from legato.dialects.relax.requirements import Requirement, require_here
from legato.frontends.onnx.expansion import Expansion
from legato.frontends.onnx.graph import node_name
from legato.frontends.onnx.problems import Malformed, Refused
from legato.frontends.onnx.random_keys import RandomKeys
from legato.frontends.onnx.schema_checks import FIELDS, check_type
from legato.frontends.onnx.values import WIDENED, ComputedValue, ConstantValue, Emitter, Value, elements, size_array

Body = Callable[[Sequence[Value]], list[Value]]  # a subgraph as a function: its outputs for given inputs

AS_DOUBLE = "legato: float64 "     # begins the docs of a float attribute that say its number in more bits than ONNX has for it
_REQUIRED = object()


class OnnxNode:
    """One node: its inputs as values, its attributes as Python values.

    ``version``: the since-version of the op in the node's opset. Every attribute and input must be read, or ignored explicitly: otherwise
    the importer refuses the node.
    """

    def __init__(
        self,
        proto: NodeProto,
        version: int,
        inputs: Sequence[Value | None],
        attributes: dict[str, AttributeProto],
        used: Sequence[bool],
        emitter: Emitter,
        load: Callable[[TensorProto | SparseTensorProto, str], ConstantValue],
        body: Callable[[GraphProto], Body],
        expansion: Expansion,
        random: RandomKeys,
    ):
        """``used``: for each output, whether anything reads it; ``load`` makes a tensor a constant; ``body`` makes a subgraph a
        function whose calls import it at the insertion point; ``expansion`` bounds these calls; ``random`` makes keys."""
        self.op_type, self.version, self.used = proto.op_type, version, list(used)
        self.named = [bool(name) for name in proto.output]  # for each output, whether the node says that it gives it
        self.name = next((name for name in proto.output if name), proto.op_type)  # name of constants created for this node
        self.label = node_name(proto)  # for messages of calls
        self._inputs, self._attributes, self._emitter, self._load = list(inputs), attributes, emitter, load
        self.body, self.expansion, self.random = body, expansion, random
        self._read_inputs: set[int] = set()
        self._read_attributes: set[str] = set()

    # nodes that import others as a part of theirs

    def with_inputs(self, *values: ir.Value | Value | None) -> "OnnxNode":
        """The same node with other inputs. What is read of either counts as read."""
        node = copy.copy(self)
        node._inputs = [ComputedValue(value) if isinstance(value, ir.Value) else value for value in values]
        return node

    def of_version(self, version: int) -> "OnnxNode":
        """The same node as one of another version. What is read of either counts as read."""
        node = copy.copy(self)
        node.version = version
        return node

    def with_attributes(self, **values: int | float | Sequence[int] | Sequence[float]) -> "OnnxNode":
        """The same node with these attributes besides its own. What is read of either counts as read."""
        node = copy.copy(self)
        node._attributes = self._attributes | {name: helper.make_attribute(name, value) for name, value in values.items()}
        return node

    def giving(self, count: int) -> "OnnxNode":
        """The same node with this many outputs. What is read of either counts as read."""
        node = copy.copy(self)
        node.named = node.named[:count]
        return node

    # attributes

    def has(self, name: str) -> bool:
        """Whether the node has the attribute. Does not count as reading it."""
        return name in self._attributes

    def integer(self, name: str, default: Any = _REQUIRED) -> int:
        """An int attribute. Malformed if it is missing and has no default, or is of another type; likewise below."""
        return self._attribute(name, AttributeProto.INT, default)

    def flag(self, name: str, default: bool = False) -> bool:
        """An int attribute as a bool."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: Any = _REQUIRED) -> float:
        """A float attribute, which has 32 bits, as has a default; as a double where its docs say that one."""
        value = self._attribute(name, AttributeProto.FLOAT, default)
        value = float(np.float32(value)) if isinstance(value, float) else value
        docs = self._attributes[name].doc_string if name in self._attributes else ""
        return float(docs.removeprefix(AS_DOUBLE)) if docs.startswith(AS_DOUBLE) else value

    def integers(self, name: str, default: Any = _REQUIRED) -> Any:
        """An attribute that is a list of ints."""
        value = self._attribute(name, AttributeProto.INTS, default)
        return value if value is None else list(value)

    def numbers(self, name: str, default: Any = _REQUIRED) -> list[float]:
        """An attribute that is a list of floats."""
        return list(self._attribute(name, AttributeProto.FLOATS, default))

    def strings(self, name: str, default: list[str]) -> list[str]:
        """An attribute that is a list of strings."""
        values = self._attribute(name, AttributeProto.STRINGS, default)
        return [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]

    def text(self, name: str, default: str, *others: str) -> str:
        """A string attribute. Refused unless it is the default or one of the others."""
        value = self._attribute(name, AttributeProto.STRING, default)
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if value not in (default, *others):
            raise Refused(f"{name} = '{value}' is not supported, only {' and '.join(repr(v) for v in (default, *others))}")
        return value

    def string(self, name: str) -> str:
        """A required string attribute."""
        return self._attribute(name, AttributeProto.STRING, _REQUIRED).decode("utf-8", "replace")

    def tensor(self, name: str) -> ConstantValue:
        """A required tensor attribute."""
        return self._load(self._attribute(name, AttributeProto.TENSOR, _REQUIRED), self.name)

    def sparse_tensor(self, name: str) -> ConstantValue:
        """A required attribute that is a sparse tensor, as a dense one."""
        return self._load(self._attribute(name, AttributeProto.SPARSE_TENSOR, _REQUIRED), self.name)

    def graph(self, name: str):
        """A required attribute that is a subgraph (GraphProto)."""
        return self._attribute(name, AttributeProto.GRAPH, _REQUIRED)

    def only(self, name: str, default: int | float | str) -> None:
        """Refused if the attribute has another value than the default."""
        read = {int: self.integer, float: self.number}.get(type(default), self.text)
        value = read(name, default)
        if value != default:
            raise Refused(f"{name} = {value} is not supported, only {default}")

    def ignore(self, *names: str) -> None:
        """Marks attributes that do not affect the results as read."""
        self._read_attributes.update(names)

    def ignore_input(self, index: int) -> None:
        """Marks an input that does not affect the results as read."""
        self._read_inputs.add(index)

    def _attribute(self, name: str, kind: int, default: Any) -> Any:
        self._read_attributes.add(name)
        attribute = self._attributes.get(name)
        if attribute is None:
            if default is _REQUIRED:
                raise Malformed(f"it needs the attribute '{name}'")
            return default
        check_type(name, attribute, kind)
        return getattr(attribute, FIELDS[kind][0])

    # inputs

    def __len__(self) -> int:
        """The number of inputs, including omitted ones before the last."""
        return len(self._inputs)

    def given(self, index: int) -> bool:
        """Whether the input is present. Does not count as reading it."""
        return index < len(self._inputs) and self._inputs[index] is not None

    def value(self, index: int) -> Value:
        """The input's value. Malformed if it is omitted."""
        self._read_inputs.add(index)
        value = self._inputs[index] if index < len(self._inputs) else None
        if value is None:
            raise Malformed(f"it needs an input {index}")
        return value

    def x(self, index: int = 0) -> ir.Value:
        """The input as a tensor in the IR."""
        return self.value(index).emit(self._emitter)

    def widen(self, *indices: int) -> None:
        """Converts these inputs to integers of 8 bits if they are constants of 2 or 4 bits, for ops that only use their numbers."""
        for index in indices:
            value = self._inputs[index] if self.given(index) else None
            if isinstance(value, ConstantValue) and value.dtype in WIDENED:
                self._inputs[index] = ConstantValue(value.name, value.array.astype(WIDENED[value.dtype]))

    def emit(self, value: Value) -> ir.Value:
        """A value as a tensor in the IR."""
        return value.emit(self._emitter)

    def xs(self) -> list[ir.Value]:
        """All inputs as tensors in the IR."""
        return [self.x(index) for index in range(len(self))]

    def dtype(self, index: int = 0) -> np.dtype:
        """The element type of an input."""
        return self.value(index).dtype

    def dims(self, index: int = 0, rank: int | None = None) -> tuple[Size, ...]:
        """The sizes of an input. Malformed if it has not the given rank."""
        found = self.value(index).dims
        if rank is not None and len(found) != rank:
            raise Malformed(f"its input {index} must have {rank} dimensions, has the shape {list(found)}")
        return found

    def rank(self, index: int = 0) -> int:
        """The rank of an input."""
        return len(self.value(index).dims)

    def constant(self, index: int, what: str) -> np.ndarray:
        """The elements of an input that must be constant. Refused, calling it ``what``, if it is not."""
        value = self.value(index)
        array = getattr(value, "array", None)
        if array is None or array.dtype == object:
            raise Refused(f"{what} is computed at run time; only a constant is supported")
        return array

    def floats(self, index: int, what: str) -> list[float]:
        """The elements of a vector of numbers that must be constant. Refused, calling it ``what``, if it is not."""
        array = self.constant(index, what)
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            raise Malformed(f"{what} must be a vector of numbers, is {list(array.shape)} of {array.dtype}")
        return array.astype(np.float64).tolist()

    def scalar(self, index: int, what: str) -> Any:
        """The single element of a constant input, as a Python value."""
        array = self.constant(index, what)
        if array.size != 1:
            raise Malformed(f"{what} must have one element, has shape {list(array.shape)}")
        return array.item()

    def known(self, index: int, what: str) -> np.ndarray:
        """The elements of an input; an array of objects if some are symbolic sizes. Refused if they depend on data."""
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

    def size(self, index: int, what: str) -> Size:
        """The single element of an input, which may be a symbolic size. Refused if it depends on data."""
        array = self.known(index, what)
        if array.size != 1:
            raise Malformed(f"{what} must have one element, has shape {list(array.shape)}")
        value = array.item()
        return value if isinstance(value, Dim) else int(value)

    def ints(self, index: int, what: str) -> list[int]:
        """The elements of a vector of integers. Refused if some are symbolic."""
        values = self.sizes(index, what)
        if not all(isinstance(value, int) for value in values):
            raise Refused(f"{what} = {values} is known only at run time")
        return [int(value) for value in values if isinstance(value, int)]

    def by_data(self, *indices: int) -> bool:
        """Whether one of these inputs is present and computed from data at run time."""
        values = [self.value(index) for index in indices if self.given(index)]
        return any(value.known() is None and not isinstance(value, ConstantValue) for value in values)

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front. Malformed if it is out of range."""
        if not -rank <= value < rank:
            raise Malformed(f"there is no axis {value} in a tensor of rank {rank}")
        return value % rank

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Axes counted from the front, in their order. Malformed if one is out of range or listed twice."""
        result = [self.axis(value, rank) for value in values]
        if len(set(result)) != len(result):
            raise Malformed(f"axes {list(values)} name one axis twice")
        return result

    def require_equal(self, found: Size, wanted: Size, needs: str) -> None:
        """Calls check that two sizes are equal, where the node runs. ``needs``: what the node needs, for the error."""
        require_here(self._emitter.function, Requirement(found, f"{self.op_type} '{self.label}' needs {needs}", wanted))

    def require_shape(self, index: int, name: str, shape: Sequence[Size]) -> None:
        """Malformed where an input has another shape than others say; calls check what only they can tell."""
        found = self.dims(index)
        if len(found) != len(shape) or any(never_equal(a, b) for a, b in zip(found, shape)):
            raise Malformed(f"its {name} must have the shape {list(shape)}, has {list(found)}")
        for axis, (size, wanted) in enumerate(zip(found, shape)):
            if size != wanted and UNKNOWN not in (size, wanted):
                self.require_equal(size, wanted, f"axis {axis} of its {name}, {size}, to be {wanted}")

    def require_at_least(self, found: Size, least: Size, needs: str) -> None:
        """Calls check that a size is not less than another. ``needs``: as above. Malformed where it never is."""
        room = found - least
        if isinstance(room, int):
            if room < 0:
                raise Malformed(f"it needs {needs}")
            return
        self.require_equal(found, maximum(found, least), needs)

    # outputs

    def vector(self, values: Sequence[Size]) -> Value:
        """Sizes as an int64 vector, like the output of ``Shape``."""
        return elements(size_array(values), np.int64, self.name)

    def elements(self, array: np.ndarray, dtype) -> Value:
        """An output from its elements, which may be symbolic sizes."""
        return elements(array, dtype, self.name)

    def constant_value(self, array: np.ndarray) -> ir.Value:
        """A new constant in the IR, or in the weight store if it is large."""
        return ConstantValue(self.name, array).emit(self._emitter)

    def literal(self, array, dtype=None) -> ir.Value:
        """A small new constant in the IR, for an operand."""
        return relax.constant(np.asarray(array, dtype))

    # unread inputs and attributes

    def known_inputs(self) -> list[np.ndarray | None] | None:
        """The elements of all inputs (None for an omitted one), or None if some are unknown."""
        arrays = [None if value is None else value.known() for value in self._inputs]
        if any(array is None and value is not None for array, value in zip(arrays, self._inputs)):
            return None
        return arrays

    @property
    def emitter(self) -> Emitter:
        """Where values are built."""
        return self._emitter

    def read_all_inputs(self) -> None:
        """Marks all inputs as read."""
        self._read_inputs.update(range(len(self._inputs)))

    def check_all_read(self) -> None:
        """Refused if an attribute or input was never read, since its effect is then missing."""
        attributes = sorted(self._attributes.keys() - self._read_attributes)
        if attributes:
            raise Refused(f"attribute{'s' * (len(attributes) > 1)} {', '.join(map(repr, attributes))} of {self.op_type} is not supported")
        inputs = [index for index in range(len(self._inputs)) if self.given(index) and index not in self._read_inputs]
        if inputs:
            raise Refused(f"input {inputs[0]} of {self.op_type} is not supported")

"""The signature of a compiled function in the model's terms: names, element types, shapes with their symbols.

It is read from ``main`` at any stage after tir-bufferize: the original types are in its attribute ``relax.signature``, the names on its
arguments (``relax.name``, ``relax.weight``, ``tir.out``).
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from legato.core.dtypes import numpy_dtype
from legato.core.errors import LegatoError, UnsupportedError
from legato.core.mlir import ir
from legato.dialects.relax.dims import UNKNOWN, Dim, Size, dims, symbol, symbol_name, symbols
from legato.dialects.relax.markers import DEFAULT, DONATED, NAME, PACKED_NAMES, SIGNATURE, WEIGHT
from legato.dialects.tir.markers import OUT


def packed_functions(main: ir.OpView) -> list[str]:
    """The names of the packed functions that main calls, in the order of its table of functions."""
    attributes = main.operation.attributes
    return [name.value for name in attributes[PACKED_NAMES]] if PACKED_NAMES in attributes else []


def donors(main: ir.OpView, boundary: "Boundary") -> list[int]:
    """For each output of main, the number of the input whose memory it takes; -1 for memory of its own. LegatoError if there is no such
    input, or it is another one's donor, too."""
    attributes = main.operation.attributes
    if DONATED not in attributes:
        return [-1] * len(boundary.outputs)
    found = list(ir.DenseI64ArrayAttr(attributes[DONATED]))
    taken = [number for number in found if number >= 0]
    if len(found) != len(boundary.outputs) or len(taken) != len(set(taken)) or any(n >= len(boundary.inputs) for n in taken):
        raise LegatoError(f"{DONATED} of main names for each of {len(boundary.outputs)} outputs one of {len(boundary.inputs)} inputs, "
                          f"or -1, and no input twice; it is {found}")
    return found


@dataclass(frozen=True)
class BoundaryValue:
    """A tensor at the boundary. In ``shape``, an unnamed size is a new symbol; in ``shown`` it is ``?``. ``default``: the key of the weight
    that an input is in calls without it; empty if it has none."""

    name: str
    dtype: str
    shape: tuple[Size, ...]
    shown: tuple[int | str, ...]
    default: str = ""

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shown))}]"


@dataclass(frozen=True)
class LinearAxis:
    """How an input's size defines a symbol: ``size == symbol * scale + offset``. ``symbol`` is None if the size is ``offset``."""

    symbol: str | None
    scale: int
    offset: int


@dataclass(frozen=True)
class Boundary:
    """The inputs, weights and outputs of a function; weights are named by their keys."""

    inputs: tuple[BoundaryValue, ...]
    weights: tuple[BoundaryValue, ...]
    outputs: tuple[BoundaryValue, ...]

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that the inputs' shapes define, in order of appearance. UnsupportedError for a size that defines none."""
        found = (axis.symbol for value in self.inputs for axis in self.axes(value))
        return tuple(dict.fromkeys(name for name in found if name is not None))

    def is_late(self, shape: Sequence[Size]) -> bool:
        """Whether a shape has symbols that no input defines: it is known only in the middle of a call."""
        return any(name not in self.symbols for size in shape for name in symbols(size))

    def axes(self, value: BoundaryValue) -> list[LinearAxis]:
        """The checks of an input's sizes."""
        return [_axis(value, i, size) for i, size in enumerate(value.shape)]

    @staticmethod
    def of(function: ir.OpView) -> "Boundary":
        """The boundary of a ``func.func`` or ``llvm.func``. LegatoError if names or types are missing."""
        attributes = [_dict(d) for d in function.attributes["arg_attrs"]] if "arg_attrs" in function.attributes else []
        if SIGNATURE in function.attributes:
            signature = ir.FunctionType(ir.TypeAttr(function.attributes[SIGNATURE]).value)
        else:
            signature = function.type
        given, results = list(signature.inputs), list(signature.results)
        attributes = attributes + [{}] * (len(given) - len(attributes))
        inputs, weights, taken, known = [], [], set(), set()
        for i, (type_, of) in enumerate(zip(given, attributes)):
            if WEIGHT in of:
                weights.append(_value(of[WEIGHT].value, type_, ()))
            elif weights:
                raise LegatoError(f"argument {i} of main is an input after a weight: inputs come first")
            else:
                name = of[NAME].value if NAME in of else f"arg{i}"
                if name in taken:
                    raise LegatoError(f"two inputs of main have the name '{name}'")
                taken.add(name)
                inputs.append(replace(_value(name, type_, known), default=of[DEFAULT].value if DEFAULT in of else ""))
                known |= {s for d in inputs[-1].shape for s in symbols(d)}
        names = _output_names(function, attributes, len(results))
        outputs = [_value(n, t, None) for n, t in zip(names, results)]
        return Boundary(tuple(inputs), tuple(weights), tuple(outputs))


def _output_names(function: ir.OpView, attributes: Sequence[Mapping], count: int) -> list[str]:
    found = [d for d in attributes if OUT in d]
    if not found and "res_attrs" in function.attributes:
        found = [_dict(d) for d in function.attributes["res_attrs"]]
    return [found[i][NAME].value if i < len(found) and NAME in found[i] else f"out{i}" for i in range(count)]


def _dict(attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    return {a.name: a.attr for a in ir.DictAttr(attribute)}


def _value(name: str, type_: ir.Type, taken: set[str] | tuple | None) -> BoundaryValue:
    """``taken``: the symbols in use; unnamed sizes then get new symbols. None: they stay unnamed."""
    if isinstance(type_, ir.MemRefType):
        shape = tuple(UNKNOWN if s == ir.ShapedType.get_dynamic_size() else s for s in type_.shape)
    elif isinstance(type_, ir.RankedTensorType):
        shape = dims(type_)
    else:
        raise UnsupportedError(f"'{name}' has the type {type_}: what goes in and out of a compiled model are tensors of known rank")
    shown = tuple(size if isinstance(size, int) else str(size) for size in shape)
    if taken is not None:
        shape = tuple(symbol(_fresh(f"{symbol_name(name)}_{i}", taken)) if size is UNKNOWN else size for i, size in enumerate(shape))
    return BoundaryValue(name, str(numpy_dtype(type_.element_type)), shape, shown)


def _fresh(name: str, taken: set[str] | tuple) -> str:
    while name in taken:
        name += "_"
    return name


def value_of(name: str, type_: ir.Type) -> BoundaryValue:
    """A tensor with a name and a type."""
    return _value(name, type_, None)


def _axis(value: BoundaryValue, index: int, size: Size) -> LinearAxis:
    axis = linear_axis(size)
    if axis is None:
        raise UnsupportedError(f"input '{value.name}' has the size '{size}' in dimension {index}: an input's size is a number, a name, or "
                               "a multiple of one name and a number ('n * 2 + 1'), so that the name's value can be read from it")
    return axis


def linear_axis(size: Size) -> LinearAxis | None:
    """How a size defines a symbol; None if it is neither a number nor a multiple of one symbol plus a number."""
    if isinstance(size, int):
        return LinearAxis(None, 1, size)
    if isinstance(size, Dim):
        (monomial, scale), *rest = size.terms
        if len(monomial) == 1 and isinstance(monomial[0], str) and scale > 0 and not (rest and (len(rest) > 1 or rest[0][0])):
            return LinearAxis(monomial[0], scale, rest[0][1] if rest else 0)
    return None

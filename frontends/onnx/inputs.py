"""The types of a model's inputs: names for dynamic dimensions, and shapes given by the user."""
import re
from collections.abc import Mapping, Sequence

import onnx

from legato.core.errors import LegatoError
from legato.dialects.relax import dims as sizes
from legato.dialects.relax.dims import Dim, Size
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.problems import Malformed, Problem, Problems, Refused
from legato.frontends.onnx.tensors import dtype_of

Shapes = Mapping[str, Sequence[int | str]]
ANY_SIZE = ("", "?", "*", "-1", "None")     # "names" of sizes that need not be equal: PaddlePaddle's exporter writes "?"


def input_types(values: Sequence[onnx.ValueInfoProto], shapes: Shapes | None, problems: Problems) -> dict[str, TensorType | None]:
    """The type of each input by name; None if it was added to the problems.

    A named dimension becomes a symbol (or an expression, if all its symbols can be computed from the inputs), an unnamed one is named
    after its input (``"x_0"``). ``shapes`` replaces whole shapes; a size given for a named dimension applies wherever that name is used.
    LegatoError if ``shapes`` does not fit the model.
    """
    shapes = dict(shapes or {})
    names = _Names()
    bound: dict[str, Size] = {}
    types: dict[str, TensorType | None] = {}
    for value in values:
        try:
            types[value.name] = _declared(value, shapes.get(value.name), names, bound)
        except (Refused, Malformed) as problem:
            problems.append(Problem(value.name, "input", "", None, str(problem), isinstance(problem, Malformed)))
            types[value.name] = None
    known = [t for t in types.values() if t is not None]
    readable = {name for t in known for size in t.dims for name in _readable(sizes.substitute(size, bound))}

    def settled(size: Size) -> Size:
        """The size, or a new symbol if it is an expression of symbols that cannot be computed from the inputs."""
        size = sizes.substitute(size, bound)
        return size if sizes.symbols(size) <= readable else names.symbol(str(size))

    return {name: t and t.with_dims(map(settled, t.dims)) for name, t in types.items()}


class _Names:
    """Distinct symbol names for the model's dimension names."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def symbol(self, text: str) -> Dim:
        if text not in self._of:
            name = base = sizes.symbol_name(text)
            count = 0
            while name in self._of.values():
                count += 1
                name = f"{base}_{count}"
            self._of[text] = name
        return sizes.symbol(self._of[text])

    def size(self, text: str) -> Size:
        """A dimension's name as a size: a number, an expression, or a symbol."""
        if re.search(r"\w-\w", text):  # a hyphen, not a difference
            return self.symbol(text)
        try:
            size = sizes.parse(text)
        except LegatoError:
            return self.symbol(text)
        if isinstance(size, Dim) and not size.is_symbol:
            return sizes.substitute(size, {name: self.symbol(name) for name in sizes.symbols(size)})
        return size if isinstance(size, int) and size >= 0 else self.symbol(text)


def _declared(value: onnx.ValueInfoProto, override: Sequence[int | str] | None, names: _Names, bound: dict[str, Size]) -> TensorType:
    kind = value.type.WhichOneof("value")
    if kind is None:
        raise Malformed("it has no type")
    type_ = value.type.optional_type.elem_type if kind == "optional_type" else value.type     # a call gives it
    kind = type_.WhichOneof("value")
    if kind != "tensor_type":
        raise Refused(f"it is a {str(kind).removesuffix('_type').replace('_', ' ')}; only tensors are supported")
    tensor = type_.tensor_type
    dtype = dtype_of(tensor.elem_type)
    if not tensor.HasField("shape"):
        if override is None:
            raise Refused(f"its rank is not known: say what it is with shapes={_example(value.name)}")
        return TensorType(tuple(_given(size, value.name, names) for size in override), dtype)
    declared = [_size(dim, f"{value.name}_{axis}", names) for axis, dim in enumerate(tensor.shape.dim)]
    if override is None:
        return TensorType(tuple(declared), dtype)
    if len(override) != len(declared):
        raise LegatoError(f"shapes: the input '{value.name}' has {len(declared)} dimensions, {declared}, and {len(override)} are given: "
                          f"{list(override)}")
    result = tuple(_given(size, value.name, names) for size in override)
    for old, new in zip(declared, result):
        if isinstance(old, Dim) and old.is_symbol and bound.setdefault(str(old), new) != new:
            raise LegatoError(f"shapes: the dimension '{old}' gets two sizes: {bound[str(old)]} and {new} (in the input '{value.name}')")
    return TensorType(result, dtype)


def _example(name: str) -> str:
    sequence, bracket, _ = name.rpartition("[")
    return f"{{'{sequence}': [[...], ...]}}" if bracket else f"{{'{name}': [...]}}"


def _size(dim: onnx.TensorShapeProto.Dimension, fresh: str, names: _Names) -> Size:
    """A declared dimension. One without a name or with one that exporters write for any unknown size, and without a value or with a
    negative one, gets a fresh symbol."""
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    return names.symbol(fresh) if dim.dim_param in ANY_SIZE else names.size(dim.dim_param)


def _given(size: int | str, name: str, names: _Names) -> Size:
    if isinstance(size, str):
        return names.size(size)
    if size < 0:
        raise LegatoError(f"shapes: the input '{name}' gets a dimension of {size}: a size is a number of 0 or more, or a name")
    return int(size)


def _readable(size: Size) -> set[str]:
    """The symbol that can be computed from this size: the size is the symbol, or a linear expression of it alone."""
    if not isinstance(size, Dim) or len(sizes.symbols(size)) != 1:
        return set()
    (monomial, _), *rest = size.terms
    linear = len(monomial) == 1 and isinstance(monomial[0], str) and not (rest and rest[0][0])
    return {monomial[0]} if linear else set()

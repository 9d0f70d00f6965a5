"""What kernels are shared by: ops that are equal but for the names of their symbols."""
from collections.abc import Hashable
from typing import Any

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.passes.legalize.context import OpContext


def kernel_key(context: OpContext, inside: list[Any], scalars: list[Any]) -> Hashable:
    """The op, its types and attributes, the constants ``inside`` of its kernel and the sizes that it takes as arguments, ``scalars``, with
    symbols numbered as they come: a kernel takes the sizes of its tensors from its arguments, so that it computes all ops of one key."""
    names = _Numbers()
    arguments = tuple(map(names.of_size, scalars))   # first: in sizes of one symbol, equal ops name them in the same order
    types = [tuple(map(names.of_type, types)) for types in (context.input_types, context.output_types)]
    attributes = tuple((name, names.of_value(value)) for name, value in sorted(context.attrs.items()))
    return context.name, arguments, *types, tuple(inside), attributes


class _Numbers:
    """Replaces the symbols of sizes by numbered ones."""

    def __init__(self) -> None:
        self._numbered: dict[str, dims.Size] = {}

    def of_size(self, size: dims.Size) -> Hashable:
        """A size, with numbers for its symbols."""
        for name in sorted(dims.symbols(size)):
            if name not in self._numbered:
                self._numbered[name] = dims.symbol(f"s{len(self._numbered)}")
        return dims.substitute(size, self._numbered)

    def of_type(self, type_: ir.Type) -> Hashable:
        """A type that is equal for types that differ in names of symbols only."""
        if not isinstance(type_, ir.RankedTensorType):
            return type_
        sizes = dims.dims(type_)
        return type_ if all(isinstance(size, int) for size in sizes) else (type_.element_type, tuple(map(self.of_size, sizes)))

    def of_value(self, value: Any) -> Hashable:
        """An attribute's value."""
        if isinstance(value, dims.Dim):
            return self.of_size(value)
        if isinstance(value, (list, tuple)):
            return tuple(map(self.of_value, value))
        if isinstance(value, dict):
            return tuple((key, self.of_value(one)) for key, one in sorted(value.items()))
        return str(value)

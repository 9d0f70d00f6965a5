"""What kernels are shared by: ops that are equal but for the names of their symbols, or for expressions that stand in place of symbols."""
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.passes.legalize.context import OpContext


def kernel_key(context: OpContext, inside: list[Any], scalars: list[Any]) -> Hashable:
    """The op, its types and attributes, the constants ``inside`` of its kernel and the sizes that it takes as arguments, ``scalars``, with
    symbols numbered as they come: a kernel takes the sizes of its tensors from its arguments, so that it computes all ops of one key. An
    expression whose symbols stand in no other size is numbered as a whole."""
    names = _Numbers(_sizes_in([scalars, context.input_types, context.output_types, *context.attrs.values()]))
    arguments = tuple(map(names.of_size, scalars))   # first: in sizes of one symbol, equal ops name them in the same order
    types = [tuple(map(names.of_type, types)) for types in (context.input_types, context.output_types)]
    attributes = tuple((name, names.of_value(value)) for name, value in sorted(context.attrs.items()))
    return context.name, arguments, *types, tuple(inside), attributes


def _sizes_in(value: Any) -> Iterator[dims.Dim]:
    """The sizes with symbols in types and attributes."""
    if isinstance(value, dims.Dim):
        yield value
    elif isinstance(value, ir.RankedTensorType):
        yield from _sizes_in(dims.dims(value))
    elif isinstance(value, (list, tuple, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _sizes_in(one)


class _Numbers:
    """Replaces the symbols of sizes by numbered ones. ``sizes``: all that there are."""

    def __init__(self, sizes: Iterable[dims.Dim]) -> None:
        self._numbered: dict[str, dims.Size] = {}
        known = list(dict.fromkeys(sizes))
        self._alone = {size: number for number, size in enumerate(known) if not size.is_symbol
                       and not any(set(dims.symbols(size)) & set(dims.symbols(other)) for other in known if other != size)}

    def of_size(self, size: dims.Size) -> Hashable:
        """A size, with numbers for its symbols."""
        if size in self._alone:
            return "expression", self._alone[size]
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

"""Run-time values of the symbols of a function whose graph ops are legalized."""
from collections.abc import Iterator, Mapping

from legato.core.mlir import func, ir
from legato.dialects.relax import dims
from legato.passes.legalize.built import successor


class SymbolValues(Mapping[str, ir.Value]):
    """The values of a function's symbols, for ``dims.materialize``. Those that results of its ops define are built once, behind the op that
    does: many graphs compute sizes from data, and each search of the block for its op takes as long as the graph is. Those of arguments are
    built where they are asked for."""

    def __init__(self, function: func.FuncOp) -> None:
        self._function = function
        self._values: dict[str, ir.Value] = {}
        self._built: list[ir.Operation] = []
        self._given = dims.symbol_table(function)
        found: dict[str, tuple[ir.Value, int, int, int]] = {}
        for op in function.body.blocks[0].operations:
            for result in op.operation.results:
                for name, *place in dims.given_symbols(result.type):
                    if name not in self._given and name not in found:
                        found[name] = (result, *place)
        for name, (result, *place) in found.items():
            self._build(name, result, *place)

    def _build(self, name: str, result: ir.Value, axis: int, scale: int, offset: int) -> None:
        owner = result.owner
        with ir.InsertionPoint.after(owner), owner.location:
            self._values[name] = value = dims.solved(result, axis, scale, offset)
        one = successor(owner)
        while one is not None and one != value.owner:
            self._built.append(one)
            one = successor(one)
        self._built.append(value.owner)

    def drop_unused(self) -> None:
        """Erases the values that nothing uses."""
        self._values.clear()
        for op in reversed(self._built):
            if not any(True for result in op.results for _ in result.uses):
                op.erase()
        self._built.clear()

    def __getitem__(self, name: str) -> ir.Value:
        if name in self._given:
            number, *place = self._given[name]
            return dims.solved(self._function.arguments[number], *place)
        value = self._values.get(name)
        if value is not None and dims.is_known_here(value):
            return value
        return dims.symbol_value(name, self._function, inside=value is None)

    def __contains__(self, name: object) -> bool:
        return True     # what no value defines is symbol_value's error

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

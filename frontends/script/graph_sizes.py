"""Sizes in a graph's script: names for them, and what two sizes that are to be the same say of the arguments."""

import ast
from typing import Any

from ...dialects.relax import dims
from ...mlir import ir
from .graph_expressions import GraphExpressions
from .types import ShapeInfo, TensorInfo, dtype_name


class Restart(Exception):
    """A ``match_cast`` has shown what a size is: the function is parsed again with it, so that the entry checks it."""


class GraphSizes(GraphExpressions):
    """Checks sizes when the graph is parsed; what depends on the arguments becomes part of the function's type."""

    def match_cast(self, node: ast.Call) -> Any:
        value, info = self.expression(node.args[0]), self.python(node.args[1])
        if isinstance(value, ShapeInfo) and isinstance(info, ShapeInfo):
            for a, b in zip(value.sizes, info.sizes, strict=True):
                self.same(self.size(a), self.size(b), node)
            return value
        return self.match(value, info, node)

    def match(self, value: ir.Value, info: Any, node: ast.AST) -> ir.Value:
        if not isinstance(value, ir.Value) or not isinstance(info, TensorInfo):
            raise self.source.error("a tensor and R.Tensor(shape, dtype), or a shape and R.Shape(...), can be matched", node)
        said = self.type_of(TensorInfo(info.shape, info.dtype or dtype_name(value.type.element_type), info.ndim), node)
        if said.rank != value.type.rank or said.element_type != value.type.element_type:
            raise self.source.error(f"the value is {value.type}, never {said}", node)
        self.unify(value, said, node)
        return value

    def unify(self, value: ir.Value, said: ir.Type, node: ast.AST) -> None:
        for a, b in zip(dims.dims(value.type), dims.dims(said)):
            self.same(a, b, node)

    def same(self, found: Any, said: Any, node: ast.AST) -> None:
        """Two sizes that are to be the same: what that says of a symbol becomes part of the function's type, which calls are checked by."""
        if found == said or found is dims.UNKNOWN:
            return
        if isinstance(found, int) and isinstance(said, int):
            raise self.source.error(f"the size is {found}, never {said}", node)
        given = self.given()
        for symbol, other in ((said, found), (found, said)):
            if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in dims.symbols(other):
                if str(symbol) in given and any(n not in given for n in dims.symbols(other)):
                    continue
                self.known = {k: dims.substitute(v, {str(symbol): other}) for k, v in self.known.items()} | {str(symbol): other}
                raise Restart
        for symbol in sorted({n for s in (said, found) for n in dims.symbols(s)}):
            solved = solve(found, said, symbol)
            if solved is not None:
                self.known[symbol] = solved
                raise Restart
        raise self.source.error(f"whether {found} is {said} cannot be checked when the function is called", node)

    def given(self) -> set[str]:
        """The symbols that the arguments' shapes have."""
        return {n for a in self.main.arguments for s in dims.dims(a.type) for n in dims.symbols(s)}


def solve(a: Any, b: Any, symbol: str) -> int | None:
    """The value of a symbol that makes two linear sizes equal, if it is one number."""
    at = [dims.substitute(a - b if not isinstance(a, int) else -(b - a), {symbol: v}) for v in (0, 1, 2)]
    if not all(isinstance(v, int) for v in at) or at[2] - at[1] != at[1] - at[0] or at[1] == at[0]:
        return None
    value, rest = divmod(-at[0], at[1] - at[0])
    return value if rest == 0 and value >= 1 else None

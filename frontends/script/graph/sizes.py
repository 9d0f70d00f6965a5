"""Sizes in a graph's script: names for them, and what two sizes that are to be the same say of the arguments."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.functions import GraphFunctions
from legato.frontends.script.language.types import ShapeInfo, TensorInfo, dtype_name, relax_element, size_of
from legato.frontends.script.program import cast


class Restart(Exception):
    """A ``match_cast`` has shown what a size is: the function is parsed again with it, so that the entry checks it."""


class GraphSizes(GraphFunctions):
    """Checks sizes when the graph is parsed; what depends on the arguments, or on what packed functions return, is checked by calls."""

    def size(self, value: Any) -> Any:
        """A size, where what has become known of its symbols is put in. Texts and Symbols are names of this function's own."""
        found = size_of(dims.symbol_name(value) if isinstance(value, str) and value.isidentifier() else value)
        if isinstance(found, int) or found is dims.UNKNOWN:
            return found
        if not isinstance(value, dims.Dim):
            found = dims.substitute(found, {name: self.own_symbol(name) for name in dims.symbols(found)})
        return dims.substitute(found, self.known) if self.known else found

    def packed_types(self, callee: str, infos: Sequence[Any], node: ast.AST) -> list[ir.Type]:
        """The types of what a packed function returns; sizes that are not said get names of their own."""
        types = []
        self.packed_count += 1
        for number, info in enumerate(infos):
            if not isinstance(info, TensorInfo):
                raise self.source.error("what comes back is R.Tensor(...), or R.Tuple of them", node)
            if info.shape is None and info.ndim >= 0:
                names = [f"{dims.symbol_name(callee)}_{self.packed_count}_{number}_{axis}" for axis in range(info.ndim)]
                self.unnamed |= set(names)
                info = TensorInfo(tuple(names), info.dtype, info.ndim)
            types.append(self.type_of(info, node))
        self.late |= {name for t in types for size in dims.dims(t) for name in dims.symbols(size)} - self.given()
        return types

    def match_cast(self, node: ast.Call) -> Any:
        value, info = self.expression(node.args[0]), self.python(node.args[1])
        if not isinstance(value, ShapeInfo) or not isinstance(info, ShapeInfo):
            return self.match(value, info, node)
        if len(value.sizes) != len(info.sizes):
            raise self.source.error(f"the shape has {len(value.sizes)} sizes, never {len(info.sizes)}", node)
        said = [self.size(b) for b in info.sizes]
        for axis, (a, b) in enumerate(zip(value.sizes, said)):
            self.same(self.size(a), b, node, f"size {axis}")
        return ShapeInfo(tuple(said))

    def match(self, value: ir.Value, info: Any, node: ast.AST) -> ir.Value:
        if not isinstance(value, ir.Value) or not isinstance(info, TensorInfo):
            raise self.source.error("a tensor and R.Tensor(shape, dtype), or a shape and R.Shape(...), can be matched", node)
        dtype = info.dtype or dtype_name(value.type.element_type)
        if info.shape is None:
            if (info.ndim >= 0 and info.ndim != value.type.rank) or relax_element(dtype_name(dtype)) != value.type.element_type:
                raise self.source.error(f"the value is {value.type}, never of {info.ndim} dimensions and {dtype}", node)
            return value
        said = self.type_of(TensorInfo(info.shape, dtype, info.ndim), node)
        if said.rank != value.type.rank or said.element_type != value.type.element_type:
            raise self.source.error(f"the value is {value.type}, never {said}", node)
        self.unify(value, said, node)
        return cast(value, said)

    def unify(self, value: ir.Value, said: ir.Type, node: ast.AST) -> None:
        for axis, (a, b) in enumerate(zip(dims.dims(value.type), dims.dims(said))):
            self.same(a, b, node, f"dimension {axis}")

    def same(self, found: Any, said: Any, node: ast.AST, what: str) -> None:
        """Two sizes that are to be the same. What that says of a symbol becomes part of the types that give it, which calls are checked by;
        what it says of several is checked as soon as they are known."""
        if found == said:
            return
        if found is dims.UNKNOWN or said is dims.UNKNOWN:
            raise self.source.error(f"{what} has no name, so that it cannot be checked", node)
        if isinstance(found, int) and isinstance(said, int):
            raise self.source.error(f"{what} is {found}, never {said}", node)
        given = self.given()
        pairs = ((said, found), (found, said))
        for symbol, other in reversed(pairs) if str(found) in self.unnamed else pairs:
            if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in dims.symbols(other):
                name, needed = str(symbol), dims.symbols(other)
                is_new = name not in given and name not in self.late and name not in self.counted
                if name in self.counted or (name in given and not needed <= given) or not (is_new or is_linear(other)):
                    continue
                self.learn(name, other)
        for symbol in sorted({n for s in (said, found) for n in dims.symbols(s)}):
            solved = solve(found, said, symbol)
            if solved is not None and symbol not in self.counted:
                self.learn(symbol, solved)
        if not {n for s in (said, found) for n in dims.symbols(s)} <= given | self.late | self.counted:
            raise self.source.error(f"whether {found} is {said} cannot be checked when the function is called", node)
        text = f"{self.described(node)} needs {what}, {found}, to be {said}"
        self.required.setdefault((str(found), str(said)), text)

    def described(self, node: ast.AST) -> str:
        """Where sizes are said to be the same, for the message of a call that brings others."""
        target = node.args[0] if isinstance(node, ast.Call) and node.args else None
        of = f" of '{ast.unparse(target)}'" if isinstance(target, ast.Name) else ""
        kinds = {ast.Call: "the match_cast", ast.Return: "the function's result"}
        what = kinds.get(type(node), "the annotation")
        return f"{what}{of} ({Path(self.source.filename).name}:{self.source.position(node)[0]})"

    def learn(self, name: str, size: Any) -> NoReturn:
        """Parses the function again with a symbol replaced."""
        learned = {k: dims.substitute(v, {name: size}) for k, v in self.known.items()} | {name: size}
        self.known.clear()
        self.known.update(learned)
        raise Restart

    def given(self) -> set[str]:
        """The symbols that the arguments' shapes have."""
        return {n for a in self.main.arguments for s in dims.dims(a.type) for n in dims.symbols(s)}


def is_linear(size: Any) -> bool:
    """Whether a value of one symbol can be read off a size, or the size is a number."""
    if isinstance(size, int):
        return True
    variables = size.variables()
    return len(dims.symbols(size)) == 1 and all(isinstance(v, str) for v in variables) and all(len(m) <= 1 for m, _ in size.terms)


def solve(a: Any, b: Any, symbol: str) -> int | None:
    """The value of a symbol that makes two linear sizes equal, if it is one number."""
    at = [dims.substitute(a - b if not isinstance(a, int) else -(b - a), {symbol: v}) for v in (0, 1, 2)]
    if not all(isinstance(v, int) for v in at) or at[2] - at[1] != at[1] - at[0] or at[1] == at[0]:
        return None
    value, rest = divmod(-at[0], at[1] - at[0])
    return value if rest == 0 and value >= 1 else None

"""Sizes that a graph's script states to be equal: by ``R.match_cast``, an annotation of a variable, or the type of the result.

Where this determines a symbol, the graph is parsed again with the symbol replaced; other equalities are checked when the graph is called.
"""

import ast
from pathlib import Path
from typing import Any, NoReturn

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.graph.sizes import size, type_of
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo, TensorInfo, dtype_name, relax_element
from legato.frontends.script.program import cast


class Restart(Exception):
    """Raised where a symbol was found to be another size: the graph is parsed again with it, so that argument types have it."""


def match_cast(parser: GraphParser, node: ast.Call) -> Any:
    """``R.match_cast(x, R.Tensor((n, 4), "float32"))``, of a tensor or a shape."""
    if len(node.args) < 2:
        raise Misuse("R.match_cast takes a value and a type")
    value, info = parser.expression(node.args[0]), parser.python(node.args[1])
    if not isinstance(value, ShapeInfo) or not isinstance(info, ShapeInfo):
        return match(parser, value, info, node)
    if len(value.sizes) != len(info.sizes):
        raise parser.error(f"the shape has {len(value.sizes)} sizes, never {len(info.sizes)}", node)
    said = [size(parser, b) for b in info.sizes]
    for axis, (a, b) in enumerate(zip(value.sizes, said)):
        equate(parser, size(parser, a), b, node, f"size {axis}")
    return ShapeInfo(tuple(said))


def match(parser: GraphParser, value: ir.Value, info: Any, node: ast.AST) -> ir.Value:
    """The tensor with a stated type. ScriptError where it cannot have that type."""
    if not isinstance(value, ir.Value) or not isinstance(info, TensorInfo):
        raise parser.error("a tensor and R.Tensor(shape, dtype), or a shape and R.Shape(...), can be matched", node)
    dtype = info.dtype or dtype_name(value.type.element_type)
    if info.shape is None:
        if (info.ndim >= 0 and info.ndim != value.type.rank) or relax_element(dtype_name(dtype)) != value.type.element_type:
            raise parser.error(f"the value is {value.type}, never of {info.ndim} dimensions and {dtype}", node)
        return value
    said = type_of(parser, TensorInfo(info.shape, dtype, info.ndim), node)
    if said.rank != value.type.rank or said.element_type != value.type.element_type:
        raise parser.error(f"the value is {value.type}, never {said}", node)
    unify(parser, value, said, node)
    return cast(value, said)


def unify(parser: GraphParser, value: ir.Value, said: ir.Type, node: ast.AST) -> None:
    """Requires the sizes of a tensor to be those of a type of the same rank."""
    for axis, (a, b) in enumerate(zip(dims.dims(value.type), dims.dims(said))):
        equate(parser, a, b, node, f"dimension {axis}")


def equate(parser: GraphParser, found: Any, said: Any, node: ast.AST, what: str) -> None:
    """Requires two sizes to be equal. ScriptError where they never are, or no call could check it.

    Where this determines a symbol, it is replaced in the arguments' types; otherwise calls check it (``required``).
    """
    if found == said:
        return
    if found is dims.UNKNOWN or said is dims.UNKNOWN:
        raise parser.error(f"{what} has no name, so that it cannot be checked", node)
    if isinstance(found, int) and isinstance(said, int):
        raise parser.error(f"{what} is {found}, never {said}", node)
    facts, given = parser.facts, parser.given()
    pairs = ((said, found), (found, said))
    for symbol, other in reversed(pairs) if str(found) in parser.unnamed else pairs:
        if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in dims.symbols(other):
            name, needed = str(symbol), dims.symbols(other)
            is_new = name not in given and name not in facts.late and name not in facts.counted
            if name in facts.counted or (name in given and not needed <= given) or not (is_new or is_linear(other)):
                continue
            learn(parser, name, other)
    for symbol in sorted({n for s in (said, found) for n in dims.symbols(s)}):
        solved = solve(found, said, symbol)
        if solved is not None and symbol not in facts.counted:
            learn(parser, symbol, solved)
    if not {n for s in (said, found) for n in dims.symbols(s)} <= given | facts.late | facts.counted:
        raise parser.error(f"whether {found} is {said} cannot be checked when the function is called", node)
    text = f"{place(parser, node)} needs {what}, {found}, to be {said}"
    facts.required.setdefault((str(found), str(said)), text)


def place(parser: GraphParser, node: ast.AST) -> str:
    """The place where two sizes are stated to be equal, for the error of a call with others."""
    target = node.args[0] if isinstance(node, ast.Call) and node.args else None
    of = f" of '{ast.unparse(target)}'" if isinstance(target, ast.Name) else ""
    kinds = {ast.Call: "the match_cast", ast.Return: "the function's result"}
    what = kinds.get(type(node), "the annotation")
    return f"{what}{of} ({Path(parser.source.filename).name}:{parser.source.position(node)[0]})"


def learn(parser: GraphParser, name: str, found: Any) -> NoReturn:
    """Restarts the parse of the graph with a symbol replaced by a size."""
    known = parser.facts.known
    learned = {k: dims.substitute(v, {name: found}) for k, v in known.items()} | {name: found}
    known.clear()
    known.update(learned)
    raise Restart


def is_linear(size: Any) -> bool:
    """Whether a size is a number or linear in one symbol, so that the symbol's value can be read off the size's."""
    if isinstance(size, int):
        return True
    variables = size.variables()
    return len(dims.symbols(size)) == 1 and all(isinstance(v, str) for v in variables) and all(len(m) <= 1 for m, _ in size.terms)


def solve(a: Any, b: Any, symbol: str) -> int | None:
    """The value of a symbol that makes two linear sizes equal, if it is one number."""
    difference = a - b if not isinstance(a, int) else -(b - a)
    if isinstance(difference, int) or not is_linear(difference):    # min(n, 3) is 3 for more than one n
        return None
    first, second = (dims.substitute(difference, {symbol: value}) for value in (0, 1))
    if not isinstance(first, int) or not isinstance(second, int) or first == second:
        return None
    value, rest = divmod(-first, second - first)
    return value if rest == 0 and value >= 1 else None

"""Values of sizes that metadata gives as text: ``n``, ``2 * n + 1``, ``max(n - 4, 0) // 2``."""
import ast
import operator
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from legato.core.syntax import parse

_OPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_FUNCTIONS = {"min": min, "max": max, "broadcast": lambda a, b: b if a == 1 else a}


def evaluate(text: str, values: Mapping[str, int]) -> int | None:
    """The value of an expression; None if it has a symbol without a value. ValueError for text that is no such expression."""
    try:
        return _value(_parsed(text), values)
    except (KeyError, ZeroDivisionError):
        return None


def symbol_values(shapes: Sequence[tuple[Sequence[int | str], Sequence[int]]]) -> dict[str, int]:
    """The symbols' values, from inputs' shapes in the metadata and those of the arrays. An axis defines one symbol, of which it is a
    multiple plus a constant."""
    found: dict[str, int] = {}
    for axes, sizes in shapes:
        for axis, size in zip(axes, sizes):
            names = _names(axis)
            if len(names) == 1 and not found.keys() & names:
                name = next(iter(names))
                zero, one = (_value(_parsed(str(axis)), {name: value}) for value in (0, 1))
                if one != zero:
                    found[name] = (size - zero) // (one - zero)
    return found


def _names(axis: int | str) -> set[str]:
    if not isinstance(axis, str) or axis == "?":
        return set()
    return {node.id for node in ast.walk(_parsed(axis)) if isinstance(node, ast.Name)}


@lru_cache(4096)
def _parsed(text: str) -> ast.expr:
    return parse(text, mode="eval").body


def _value(node: Any, values: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPS:
        return _OPS[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))
    raise ValueError(f"not an expression of sizes: {ast.unparse(node)}")

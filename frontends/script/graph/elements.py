"""Elements of tuples and shapes in a graph's script."""

import ast
from typing import Any

from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo


def element_of(parser: GraphParser, node: ast.Subscript) -> Any:
    """``t[0]``. Misuse for a value without elements at parse time, such as a tensor."""
    base = parser.expression(node.value)
    if not isinstance(base, (tuple, list, dict, ShapeInfo)):
        raise Misuse("elements can be taken of tuples; of tensors by R.take and R.strided_slice")
    at = parser.python(node.slice)
    try:
        return (base.sizes if isinstance(base, ShapeInfo) else base)[at]
    except (TypeError, IndexError, KeyError) as error:
        count = f" of {len(base)}" if isinstance(base, (tuple, list)) else ""
        raise Misuse(f"no element {at!r} of this tuple{count}: {error}") from None

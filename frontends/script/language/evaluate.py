"""Evaluation of lists of expressions, for the parsers of kernels and of graphs."""

import ast
from typing import Any, Protocol

from legato.frontends.script.language.source import Source


class ExpressionParser(Protocol):
    """A parser: the source, and evaluation of expressions. ScriptError at the place of an error."""

    source: Source

    def expression(self, node: ast.expr) -> Any:
        """The value of an expression."""
        ...


def spread(parser: ExpressionParser, nodes: list[ast.expr]) -> list[Any]:
    """The values of expressions; ``*x`` stands for the elements of a tuple."""
    found: list[Any] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            found.append(parser.expression(node))
            continue
        value = parser.expression(node.value)
        if not isinstance(value, (tuple, list)):
            raise parser.source.error("'*' takes the elements of a tuple", node)
        found += value
    return found

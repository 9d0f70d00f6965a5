"""The arguments of a kernel's calls."""

import ast
from typing import Any

from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.language.evaluate import spread
from legato.frontends.script.language.source import Misuse


def arguments(parser: KernelParser, node: ast.Call, most: int | None = None) -> list[Any]:
    """The values of a call's arguments by position. Misuse where there are more than ``most``."""
    made = spread(parser, node.args)
    if most is not None and len(made) > most:
        raise Misuse(f"takes {most} argument{'s' * (most > 1)} at most, and {len(made)} are given")
    return made


def named(parser: KernelParser, node: ast.Call, *names: str) -> dict[str, Any]:
    """The values of a call's arguments, by position or by name. Misuse for one that is not among the names."""
    given = dict(zip(names, arguments(parser, node, len(names))))
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise Misuse(f"T.{parser.word(node)} takes {', '.join(names)}; {keyword.arg!r} is not one of them, or given twice")
        given[keyword.arg] = parser.expression(keyword.value)
    return given

"""The source of a Python function or class, its names, and errors that point into it."""

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from legato.core import syntax
from legato.core.errors import LegatoError
from legato.core.mlir import ir


class ScriptError(LegatoError):
    """An error in a script, with its line and a caret under the place. ``line`` and ``column`` count from 1."""

    def __init__(self, message: str, filename: str = "", line: int = 0, column: int = 0, text: str = "", width: int = 1):
        super().__init__(message)
        self.message, self.filename, self.line, self.column, self.text, self.width = message, filename, line, column, text, width

    def __str__(self) -> str:
        if not self.filename:
            return self.message
        shown = self.text.rstrip()
        caret = " " * (self.column - 1) + "^" * max(1, min(self.width, len(shown) - self.column + 1))
        return f"{self.filename}:{self.line}:{self.column}: {self.message}\n  {shown}\n  {caret}"


class Misuse(Exception):
    """An error without its place; the parser raises it again as a ScriptError at the syntax node it is parsing."""


class Source:
    """The syntax tree of a function or class, its place in the file, and ``names``: the values of its free names."""

    def __init__(self, thing: Any, names: Mapping[str, Any] | None = None):
        self.filename, self.first_line, text = _read(thing)
        self.shift = len(text) - len(text.lstrip())
        self.lines = text.splitlines()
        self.tree: Any = syntax.parse(textwrap.dedent(text)).body[0]
        self.names = dict(names or {})

    def error(self, message: str, node: ast.AST) -> ScriptError:
        """A ScriptError that points at a node."""
        line, column = self.position(node)
        text = self.lines[line - self.first_line] if 0 <= line - self.first_line < len(self.lines) else ""
        end = getattr(node, "end_col_offset", None)
        one_line = getattr(node, "end_lineno", None) == getattr(node, "lineno", None)
        width = (end - node.col_offset) if end is not None and one_line else 1
        return ScriptError(message, self.filename, line, column, text, width)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Raises a Misuse inside as a ScriptError that points at a node."""
        try:
            yield
        except Misuse as problem:
            raise self.error(str(problem), node) from None

    @contextmanager
    def innermost(self, node: ast.AST) -> Iterator[None]:
        """Raises any of our errors inside as a ScriptError that points at a node, but for one that points somewhere already."""
        try:
            with self.at(node):
                yield
        except ScriptError:
            raise
        except LegatoError as error:
            raise self.error(str(error), node) from error

    def parsed(self, text: str, node: ast.AST) -> ast.expr:
        """The syntax tree of an expression in a string annotation. ScriptError at ``node`` where it does not parse."""
        try:
            return syntax.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise self.error(f"cannot read {text!r}: {error}", node) from None

    def evaluate(self, node: ast.expr, names: Mapping[str, Any], at: ast.AST | None = None) -> Any:
        """Evaluates an expression in Python, with ``names`` over the source's own. ScriptError at ``at``, or at ``node``, if it raises."""
        try:
            return eval(ast.unparse(node), {**self.names, **names})
        except Exception as error:  # any exception of the user's expression
            kind = "" if isinstance(error, (LegatoError, NameError)) else f"{type(error).__name__}: "
            raise self.error(f"{kind}{error}", at or node) from None

    def position(self, node: ast.AST) -> tuple[int, int]:
        """The line and column of a node in the file, counted from 1."""
        return getattr(node, "lineno", 1) + self.first_line - 1, getattr(node, "col_offset", 0) + self.shift + 1

    def location(self, node: ast.AST) -> ir.Location:
        """The place of a node as an MLIR location."""
        line, column = self.position(node)
        return ir.Location.file(self.filename, line, column)


def _read(thing: Any) -> tuple[str, int, str]:
    """File, first line and source text of a function or class. LegatoError where Python cannot find the source."""
    try:
        lines, first = syntax.undisturbed(lambda: inspect.getsourcelines(thing))
        filename = inspect.getsourcefile(thing) or "<unknown>"
    except (OSError, TypeError) as error:
        raise LegatoError(f"the source of {getattr(thing, '__name__', thing)} cannot be found: a script is read from a file, a notebook's "
                          "cell, or text given to legato.script.parse") from error
    return filename, max(first, 1), "".join(lines)


def closure_of(function: Callable) -> dict[str, Any]:
    """The values of a function's closure variables."""
    names = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue  # the variable has no value yet
    return names


def remember_text(filename: str, text: str) -> None:
    """Registers a text with linecache, so that inspect finds the source of functions compiled from it."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)

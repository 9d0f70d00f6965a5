"""Parses the text of a pipeline to plain values: ``a,b{x=1},func.func(canonicalize),external<"npu">(c)``. Names are not resolved here."""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from legato.core.errors import LegatoError

EXTERNAL = "external"
MODULE = "builtin.module"


class PipelineError(LegatoError):
    """Pipeline text that is malformed, names an unknown pass or option, or puts a pass where it cannot run."""


@dataclass(frozen=True)
class PassText:
    """A pass by name, with its options as text."""

    name: str
    options: str = ""

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@dataclass(frozen=True)
class Nested:
    """Passes on every op of one kind in the module: ``func.func(...)``."""

    op: str
    items: tuple[Item, ...]

    def __str__(self) -> str:
        return f"{self.op}({print_items(self.items)})"


@dataclass(frozen=True)
class External:
    """Passes on each external module, of one backend or (None) of all: ``external<"npu">(...)``, ``external(...)``."""

    backend: str | None
    items: tuple[Item, ...]

    def __str__(self) -> str:
        return f"{print_external(self.backend)}({print_items(self.items)})"


Item = PassText | Nested | External


def print_external(backend: str | None) -> str:
    """``external<"npu">``, or ``external`` for all backends."""
    return EXTERNAL if backend is None else f'{EXTERNAL}<"{backend}">'


def print_items(items: tuple[Item, ...]) -> str:
    """The text that parses to these items."""
    return ",".join(map(str, items))


@lru_cache(256)
def parse_pipeline(text: str) -> tuple[Item, ...]:
    """The items of a pipeline's text. Whitespace and comments (``//`` to the end of the line) between them are ignored, and an enclosing
    ``builtin.module(...)`` is removed.

    PipelineError, with the position in the text, if it is malformed.
    """
    parser = _Parser(text)
    items = parser.items(end="")
    if len(items) == 1 and isinstance(items[0], Nested) and items[0].op == MODULE:
        items = items[0].items
    _refuse_modules(text, items)
    return items


def _refuse_modules(text: str, items: tuple[Item, ...]) -> None:
    for item in items:
        if isinstance(item, Nested) and item.op == MODULE:
            raise PipelineError(
                f'{MODULE}(...) inside a pipeline is ambiguous here ("{text}"): passes already run on the whole module; '
                f'for the external modules of a backend write {EXTERNAL}<"backend">({print_items(item.items)}), '
                f'for all of them {EXTERNAL}(...)')
        if not isinstance(item, PassText):
            _refuse_modules(text, item.items)


MOST_NESTED = 100    # IR has no ops this deep to run passes on; the parser takes two of Python's frames for each


class _Parser:
    NAME = re.compile(r"[A-Za-z_][\w.\-]*")
    BETWEEN = re.compile(r"\s+|//[^\n]*")
    BACKEND = re.compile(r'<\s*"([^"]*)"\s*>')

    def __init__(self, text: str):
        self.text = text
        self.position = 0
        self._depth = 0

    def error(self, message: str, position: int | None = None) -> PipelineError:
        position = self.position if position is None else position
        line = self.text.replace("\n", " ")
        start = max(0, position - 60)
        return PipelineError(f"{message}:\n  {line[start:position + 60]}\n  {' ' * (position - start)}^")

    def peek(self) -> str:
        """The next character that is neither whitespace nor in a comment; an empty string at the end."""
        while (between := self.BETWEEN.match(self.text, self.position)) is not None:
            self.position = between.end()
        return self.text[self.position : self.position + 1]

    def items(self, end: str) -> tuple[Item, ...]:
        """Items up to the closing bracket `end` (not consumed), or the end of the text."""
        if self.peek() == end:
            return ()
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self.error(f"pipelines inside each other more than {MOST_NESTED} deep")
        found = [self.item()]
        while self.peek() == ",":
            self.position += 1
            found.append(self.item())
        self._depth -= 1
        if self.peek() != end:
            raise self.error(f'expected "," or {repr(end) if end else "the end of the pipeline"}')
        return tuple(found)

    def item(self) -> Item:
        self.peek()
        name = self.NAME.match(self.text, self.position)
        if name is None:
            raise self.error("expected the name of a pass")
        start, self.position = self.position, name.end()
        backend = self.BACKEND.match(self.text, self.position) if name[0] == EXTERNAL else None
        if backend is not None:
            self.position = backend.end()
        if self.peek() == "(":
            inner = self.nested_items()
            if name[0] == EXTERNAL:
                return External(backend and backend[1], inner)
            if "." not in name[0] and name[0] != "any":
                raise self.error(f'"{name[0]}(...)" is neither an op (func.func) nor {EXTERNAL}(...); options stand in braces', start)
            return Nested(name[0], inner)
        if name[0] == EXTERNAL:
            raise self.error(f'{EXTERNAL} wants passes in brackets: {EXTERNAL}(canonicalize) or {EXTERNAL}<"npu">(canonicalize)')
        return PassText(name[0], self.options())

    def nested_items(self) -> tuple[Item, ...]:
        opened = self.position
        self.position += 1
        inner = self.items(end=")")
        if self.peek() != ")":
            raise self.error('this "(" is never closed', opened)
        self.position += 1
        return inner

    def options(self) -> str:
        """The text in braces after a pass's name, without the braces."""
        if self.peek() != "{":
            return ""
        opened, depth, quote = self.position, 0, ""
        for position in range(opened, len(self.text)):
            char = self.text[position]
            if quote:
                quote = "" if char == quote and self.text[position - 1] != "\\" else quote
            elif char in "\"'":
                quote = char
            elif char in "{}":
                depth += 1 if char == "{" else -1
                if depth == 0:
                    self.position = position + 1
                    return self.text[opened + 1 : position].strip()
        raise self.error('this "{" is never closed', opened)

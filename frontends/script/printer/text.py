"""Expressions as source, with their precedence, and constants."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from legato.core.dtypes import as_dtype, numpy_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.frontends.script.language.types import spelled
from legato.frontends.script.printer.words import ATOM


class NotPrintable(LegatoError):
    """A module, function or op that scripts cannot express."""


@dataclass(frozen=True)
class PrintedText:
    """The source of an expression. ``dtype``: its type in the script; ``binds``: its precedence; ``reads``: the buffers whose elements it
    reads.

    ``literal``: its source without the type, for uses where another operand determines it.
    """

    source: str
    dtype: str
    binds: int = ATOM
    reads: frozenset[str] = frozenset()
    literal: str | None = None

    def inside(self, binds: int) -> str:
        """The source as an operand of an operator with precedence ``binds``, in parentheses where needed."""
        return self.source if self.binds >= binds else f"({self.source})"

    def short(self) -> "PrintedText":
        """The expression without its type, for uses where the type is known."""
        return self if self.literal is None else replace(self, source=self.literal)


def dtype_of(type_: ir.Type) -> str:
    """The script's name of a value's type; integers count as signed."""
    if isinstance(type_, ir.IndexType):
        return "index"
    if isinstance(type_, ir.IntegerType) and type_.width == 1:
        return "bool"
    return spelled(numpy_dtype(type_))


def constant(op: ir.Operation) -> PrintedText:
    """A constant of a kernel."""
    type_, value = op.results[0].type, op.attributes["value"].value
    dtype = dtype_of(type_)
    if dtype == "index":
        return PrintedText(str(value), dtype)
    if dtype == "bool":
        return PrintedText(str(bool(value)), dtype)
    return number(value, dtype)


def number(value: Any, dtype: str) -> PrintedText:
    """A number of a type."""
    if isinstance(value, float):
        shown = str(as_dtype(dtype).type(value))
        if shown in ("inf", "-inf", "nan"):
            return PrintedText(f'T.{dtype}("{shown}")', dtype)
        largest = extremes(dtype)
        if value in largest:
            return PrintedText(f'T.{"min" if value == largest[0] else "max"}_value("{dtype}")', dtype)
        shown = shown if "." in shown or "e" in shown else f"{shown}.0"
        return PrintedText(f"T.{dtype}({shown})", dtype, literal=shown)
    return PrintedText(f"T.{dtype}({value})", dtype, literal=str(value))


def extremes(dtype: str) -> tuple[float, float]:
    """The least and the greatest finite number of a type of floats."""
    import ml_dtypes

    found = (ml_dtypes.finfo if dtype == "bfloat16" else np.finfo)(as_dtype(dtype))
    return float(found.min), float(found.max)


def repr_text(text: str) -> str:
    """A text in double quotes."""
    return '"' + repr(text)[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'

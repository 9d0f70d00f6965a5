"""The types of a graph that is built: their sizes, and where its symbols come from, so that no symbol needs a search through the graph."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from legato.core.mlir import ir
from legato.dialects.relax.dim import Dim, Size
from legato.dialects.relax.sizes import symbols


class TypeIndex:
    """The types that were read or made. ``sizes``: of each; ``names``: of the symbols in them, also where nothing of the type was built, or
    it was erased; ``givers``: the types whose values define a symbol, by its name."""

    def __init__(self) -> None:
        self.sizes: dict[ir.Type, tuple[Size, ...]] = {}
        self.names: set[str] = set()
        self.givers: dict[str, list[ir.Type]] = {}

    def add(self, type_: ir.Type, sizes: Sequence[Size]) -> tuple[Size, ...]:
        """Adds a type, unless it is there. Returns its sizes."""
        found = self.sizes.get(type_)
        if found is None:
            self.sizes[type_] = found = tuple(sizes)
            self.names.update(name for size in found for name in symbols(size))
            for name in dict.fromkeys(name for name, *_ in given_by(found)):
                self.givers.setdefault(name, []).append(type_)
        return found


def given_by(sizes: Sequence[Size]) -> Iterator[tuple[str, int, int, int]]:
    """The symbols that a value of these sizes defines: (name, dimension, scale, offset), where that dimension is ``name * scale +
    offset``."""
    for axis, size in enumerate(sizes):
        if not isinstance(size, Dim) or len(symbols(size)) != 1:
            continue
        (monomial, scale), *rest = size.terms
        if len(monomial) == 1 and isinstance(monomial[0], str) and scale > 0 and not (rest and rest[0][0]):
            yield monomial[0], axis, scale, rest[0][1] if rest else 0


_index: ContextVar[TypeIndex | None] = ContextVar("the types of the graph that is built", default=None)


def type_index() -> TypeIndex | None:
    """The index of ``indexed_types``; None outside of it."""
    return _index.get()


@contextmanager
def indexed_types() -> Iterator[None]:
    """In this context, in which one graph is built, the sizes of a type are read from its encoding once, and the types that define a
    symbol are known."""
    token = _index.set(TypeIndex())
    try:
        yield
    finally:
        _index.reset(token)

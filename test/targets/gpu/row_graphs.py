"""Modules of graph ops that do not depend on each other, each on an input of its own, one size of which may be a symbol."""
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

import legato

NAMES = {np.float32: "f32", np.float16: "f16", np.int32: "i32", np.int64: "i64", np.uint8: "ui8"}


@dataclass(frozen=True)
class RowOp:
    """An op of the relax dialect along ``axis`` of an input. ``symbol``: the axis whose size only the call knows; ``flags``: its further
    attributes; ``result``: the type of the result's elements, the input's where it is empty; ``reduces``: whether the axis is reduced."""

    op: str
    shape: tuple[int, ...]
    dtype: type
    axis: int
    symbol: int | None
    flags: dict[str, bool]
    result: str = ""
    reduces: bool = False

    def text(self, n: int) -> tuple[str, str, str]:
        """The types of its input and result, and its line, as number ``n`` of a module."""
        sizes = ["?" if i == self.symbol else str(size) for i, size in enumerate(self.shape)]
        x, y = typed(sizes, NAMES[self.dtype], n), typed(self.made(sizes), self.result or NAMES[self.dtype], n)
        flags = ", ".join([f"axis = {self.axis} : i64", *(f"{name} = {str(value).lower()}" for name, value in self.flags.items())])
        return x, y, f'%r{n} = "relax.{self.op}"(%x{n}) {{{flags}}} : ({x}) -> {y}'

    def made(self, sizes: Sequence[str]) -> list[str]:
        """The sizes of the result."""
        if not self.reduces:
            return list(sizes)
        kept = ["1"] if self.flags["keepdims"] else []
        return [*sizes[:self.axis], *kept, *sizes[self.axis + 1:]]


def typed(sizes: Sequence[str], dtype: str, n: int) -> str:
    """The text of a tensor's type, with a name for its unknown size."""
    names = ", ".join(f'"n{n}"' if size == "?" else size for size in sizes)
    return f"tensor<{'x'.join([*sizes, dtype])}{f', #relax.dims<[{names}]>' if '?' in sizes else ''}>"


def graph(ops: Iterable[RowOp]) -> legato.Module:
    """The module; its outputs are all results."""
    inputs, results, lines = zip(*(op.text(n) for n, op in enumerate(ops)))
    given = ", ".join(f'%x{n}: {type_} {{relax.name = "x{n}"}}' for n, type_ in enumerate(inputs))
    types, body = ", ".join(results), "\n".join(lines)
    return legato.Module.parse(f"func.func @main({given}) -> ({types}) {{\n{body}\nreturn "
                               f"{', '.join(f'%r{n}' for n in range(len(lines)))} : {types} }}")

"""Functions of a script as data: the values of the decorators, before parsing.

The parsers see kernels and graphs in this form only; ``legato.frontends.script.functions`` has the values that users hold.
"""

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects import Module
from legato.frontends.script.language.source import Source, closure_of

KERNEL, GRAPH = "kernel", "graph"


class Function:
    """A kernel or a graph of a script: its name, kind and source, with the values of its free names.

    ``source`` is None for a kernel without a Python function (``T.create_prim_func``). ``private``: a graph that is not callable from
    outside of its module.
    """

    def __init__(self, name: str, kind: str, source: Source | None = None, doc: str | None = None, private: bool = False):
        self.__name__, self.__doc__ = name, doc
        self.kind, self.source, self.private = kind, source, private

    def build(self, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
              sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """Adds a kernel to ``module`` as a prim_func called ``name``. ``sizes``: the values of size symbols that are known."""
        raise NotImplementedError

    def module(self, context: ir.Context | None = None) -> Module:
        """A new module with the function, ready to be compiled. ScriptError, with its line, for an error in it."""
        raise NotImplementedError

    def show(self) -> None:
        """Prints the function, in a module of its own, as a script."""
        self.module().show()

    def __str__(self) -> str:
        return str(self.module())

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LegatoError(f"'{self.__name__}' is a script: compile it, legato.compile({self.__name__})(...), or call it from a graph")


@dataclass(frozen=True, eq=False)
class Macro:
    """Statements of kernels under ``@T.macro``. ``hygienic``: free names are looked up where it is defined, not where it is used."""

    source: Source
    hygienic: bool = True

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise LegatoError(f"'{self.source.tree.name}' is a macro: it is called in a function under @T.prim_func")


def is_kernel(x: Any) -> TypeGuard[Function]:
    """Whether a value is a kernel of a script."""
    return isinstance(x, Function) and x.kind == KERNEL


def is_graph(x: Any) -> TypeGuard[Function]:
    """Whether a value is a graph of a script."""
    return isinstance(x, Function) and x.kind == GRAPH


def source_of(function: Callable[..., Any], names: Mapping[str, Any]) -> Source:
    """The source of a Python function. Its free names are looked up in its closure, then in ``names``, the local names of where it is
    defined, which annotations see, and then in its globals."""
    return Source(function, {**vars(builtins), **function.__globals__, **names, **closure_of(function)})

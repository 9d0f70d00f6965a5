"""Kernels and graphs as users hold them: the values of ``@T.prim_func`` and ``@R.function``."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects import Module, make_context
from legato.dialects.tir.markers import SIGNATURE
from legato.frontends.script.graph.calls import match_type
from legato.frontends.script.graph.parse import parse_graph
from legato.frontends.script.kernel.parse import parse_kernel
from legato.frontends.script.language.functions import GRAPH, KERNEL, Function, source_of
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.program import Program


class PrimFunc(Function):
    """A kernel: ``@T.prim_func``."""

    def __init__(self, function: Callable[..., Any], names: Mapping[str, Any]):
        super().__init__(function.__name__, KERNEL, source_of(function, names), function.__doc__)

    def build(self, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
              sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """Adds the kernel to ``module`` as a prim_func. ``sizes``: the values of size symbols that are known."""
        return parse_kernel(self.source, module, name, symbols, sizes)

    def module(self, context: ir.Context | None = None) -> Module:
        """A new module with the kernel and a graph ``main`` that calls it. ScriptError, with its line, for an error in it."""
        return module_of_kernel(self, context)

    def text_for(self, types: Sequence[ir.Type]) -> str:
        """The kernel as MLIR text, for arguments of these types: the argument of a rule's ``op.call_prim_func(kernel)``."""
        return text_of_kernel(self, types)


class RelaxFunc(Function):
    """A graph: ``@R.function``."""

    def __init__(self, function: Callable[..., Any], private: bool, names: Mapping[str, Any]):
        super().__init__(function.__name__, GRAPH, source_of(function, names), function.__doc__, private)

    def module(self, context: ir.Context | None = None) -> Module:
        """A new module with the graph as its ``main``. ScriptError, with its line, for an error in it."""
        program = Program(context or make_context())
        parse_graph(program, self, "main")
        return program.module


def module_of_kernel(kernel: Function, context: ir.Context | None = None) -> Module:
    """A new module with a kernel and a graph ``main`` that calls it."""
    program = Program(context or make_context())
    made = program.kernel(kernel)
    try:
        program.wrap(made)
    except (Misuse, LegatoError) as error:
        if kernel.source is None:
            raise
        raise kernel.source.error(str(error), kernel.source.tree) from None
    return program.module


def text_of_kernel(kernel: Function, types: Sequence[ir.Type]) -> str:
    """A kernel as MLIR text, for arguments of these types: inputs, then outputs. LegatoError where they do not fit."""
    program = Program(types[0].context)
    signature = program.signature(kernel).attributes[SIGNATURE].value
    table: dict[str, Any] = {}
    for number, (expected, found) in enumerate(zip(signature.inputs, types)):
        try:
            match_type(table, kernel.__name__, f"argument {number}", expected, found)
        except Misuse as problem:
            raise LegatoError(str(problem)) from None
    return str(program.kernel(kernel, {name: size for name, size in table.items() if isinstance(size, int)}))


def module_of_class(cls: type) -> Module:
    """The module of a class of kernels and graphs: its public graphs (named ``main`` if there is only one) and its kernels.

    ScriptError, with its line, for an error in a function; LegatoError for a function of Python, and for a class without functions. A
    class of a single kernel gets a ``main`` that calls it.
    """
    members = vars(cls)
    if plain := [name for name, member in members.items() if inspect.isfunction(member)]:
        raise LegatoError(f"the module {cls.__name__} has the function '{plain[0]}' of Python: kernels are under @T.prim_func, graphs "
                          "under @R.function")
    if not any(isinstance(member, Function) for member in members.values()):
        raise LegatoError(f"the module {cls.__name__} has no function: kernels are under @T.prim_func, graphs under @R.function")
    program = Program(make_context(), cls.__name__, members)
    functions = list(program.members.values())
    for function in functions:
        if function.source is not None:
            function.source.names |= {k: v for k, v in members.items() if not k.startswith("__") and not isinstance(v, Function)}
    kernels = [f for f in functions if f.kind == KERNEL]
    graphs = [f for f in functions if f.kind == GRAPH]
    public = [g for g in graphs if not g.private]
    for graph in public:
        parse_graph(program, graph, "main" if len(public) == 1 else graph.__name__)
    for kernel in kernels:
        if not program.has(kernel):
            program.kernel(kernel)
    if not graphs and len(kernels) == 1:
        program.wrap(program.kernel(kernels[0]))
    return program.module

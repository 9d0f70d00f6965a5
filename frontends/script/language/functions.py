"""Kernels and graphs as values: what the decorators make of Python functions and classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects import Module, make_context
from legato.dialects.tir.markers import SIGNATURE
from legato.frontends.script.language.source import Problem, Source, names_of_function


class Function:
    """A function of a script. ``module()`` is a module with it alone, ready to be compiled."""

    def __init__(self, function: Callable, names: Mapping[str, Any]):
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.function = function
        self.source = Source(function, {**names, **names_of_function(function)})

    def module(self, context: ir.Context | None = None) -> Module:
        """A new module that holds the function. ScriptError for what is wrong in it, at its line."""
        raise NotImplementedError

    def checked(self) -> "Function":
        """The function itself, if it parses."""
        self.module()
        return self

    def __str__(self) -> str:
        return str(self.module())

    def __call__(self, *_: Any) -> Any:
        raise LegatoError(f"'{self.__name__}' is a script: compile it, legato.compile({self.__name__})(...), or call it from a graph")


class PrimFunc(Function):
    """A kernel: ``@T.prim_func``."""

    def parse(self, module: ir.Module, name: str | None = None, symbols: ir.SymbolTable | None = None,
              sizes: Mapping[str, int] | None = None) -> func.FuncOp:
        """Adds the kernel to a module, for sizes of which some are known."""
        from legato.frontends.script.kernel.parse import parse_kernel

        return parse_kernel(self.source, module, name, symbols, sizes)

    def text_for(self, types: Sequence[ir.Type]) -> str:
        """The kernel as MLIR text, for arguments of these types: what a rule's ``op.call_prim_func(kernel)`` takes."""
        from legato.frontends.script.graph.calls import match_type
        from legato.frontends.script.program import Program

        program = Program(types[0].context)
        signature = program.signature(self).attributes[SIGNATURE].value
        table: dict[str, Any] = {}
        for number, (expected, found) in enumerate(zip(signature.inputs, types)):
            try:
                match_type(table, self.__name__, f"argument {number}", expected, found)
            except Problem as problem:
                raise LegatoError(str(problem)) from None
        return str(program.kernel(self, {name: size for name, size in table.items() if isinstance(size, int)}))

    def module(self, context: ir.Context | None = None) -> Module:
        from legato.frontends.script.program import Program

        program = Program(context or make_context())
        kernel = program.kernel(self)
        try:
            program.wrap(kernel)
        except (Problem, LegatoError) as error:
            raise self.source.error(str(error), self.source.tree) from None
        return program.module

    def checked(self) -> "PrimFunc":
        from legato.frontends.script.program import Program

        Program(make_context()).kernel(self)
        return self


class RelaxFunc(Function):
    """A graph: ``@R.function``."""

    def __init__(self, function: Callable, private: bool, names: Mapping[str, Any]):
        super().__init__(function, names)
        self.private = private

    def module(self, context: ir.Context | None = None) -> Module:
        from legato.frontends.script.program import Program

        program = Program(context or make_context())
        program.graph(self, "main")
        return program.module


class Macro:
    """Statements of kernels: ``@T.macro``."""

    def __init__(self, function: Callable, hygienic: bool, names: Mapping[str, Any]):
        self.source = Source(function, {**names, **names_of_function(function)})
        self.hygienic = hygienic


def module_of_class(cls: type) -> Module:
    """The module that a class of kernels and graphs is."""
    from legato.frontends.script.program import Program

    members = vars(cls)
    program = Program(make_context(), cls.__name__, members)
    for member in members.values():
        if isinstance(member, Function):
            member.source.names |= {k: v for k, v in members.items() if not k.startswith("__") and not isinstance(v, Function)}
    kernels = [m for m in members.values() if isinstance(m, PrimFunc)]
    graphs = [m for m in members.values() if isinstance(m, RelaxFunc)]
    public = [g for g in graphs if not g.private]
    for graph in public:
        program.graph(graph, "main" if len(public) == 1 else graph.__name__)
    for kernel in kernels:
        if not program.has(kernel):
            program.kernel(kernel)
    if not graphs and len(kernels) == 1:
        program.wrap(program.kernel(kernels[0]))
    return program.module

"""Modules as the source of scripts, which the parser reads back."""

from legato.dialects import Module, tir
from legato.frontends.script.printer.graph import print_graph
from legato.frontends.script.printer.kernel import print_kernel
from legato.frontends.script.printer.text import NotPrintable

__all__ = ["NotPrintable", "print_script"]
HEAD = "from legato.script import ir as I, relax as R, tir as T\n\n\n@I.ir_module\nclass Module:\n"


def print_script(module: Module) -> str:
    """The module as a Python class under ``@I.ir_module``. NotPrintable, naming function and op, for an op that scripts lack."""
    functions = list(module.functions())
    callees = {f.name.value: f for f in functions}
    parts = []
    for function in functions:
        if tir.is_prim_func(function):
            parts.append(print_kernel(function, "    "))
        elif not function.is_external:
            parts.append(print_graph(function, callees, "    "))
    return HEAD + "\n".join(parts)

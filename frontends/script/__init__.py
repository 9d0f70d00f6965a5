"""Programs written as Python functions, similar to TVMScript: ``from legato.script import tir as T, relax as R, ir as I``."""

from legato.dialects import Module
from legato.frontends.script.namespaces import I, R, T
from legato.frontends.script.printer.module import NotPrintable, print_script
from legato.frontends.script.text import parse


def _shown(module: Module) -> str:
    """The module as a script; as MLIR text where scripts lack an op."""
    try:
        with module.context:
            return print_script(module)
    except NotPrintable:
        return str(module)


Module.printer = _shown

__all__ = ["I", "R", "T", "parse", "print_script"]

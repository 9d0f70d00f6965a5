"""Programs written as Python functions, similar to TVMScript: ``from legato.script import tir as T, relax as R, ir as I``."""

from legato.frontends.script.namespaces import I, R, T
from legato.frontends.script.printer.module import print_script
from legato.frontends.script.text import parse

__all__ = ["I", "R", "T", "parse", "print_script"]

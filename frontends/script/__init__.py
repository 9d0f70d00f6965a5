"""Programs written as Python functions, in the manner of TVMScript: ``from legato.script import tir as T, relax as R, ir as I``."""

from .faces import I, R, T
from .printing import print_script
from .text import parse

__all__ = ["I", "R", "T", "parse", "print_script"]

"""What stands in a kernel's script, in the words of an error."""

import ast
from typing import Any

from legato.frontends.script.kernel import values
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.lanes import Lanes

WAY_OUT = {
    "Break": ": a while loop with a flag ends early", "Continue": ": put the rest of the loop under an if", "Lambda": ": define it outside",
    "FunctionDef": ": a macro stands outside, under @T.macro", "ListComp": ": make lists outside, and take their elements",
    "Try": "", "Import": ": import outside",
}


def not_in_kernels(node: ast.AST) -> str:
    """That a construct of Python has no meaning in a kernel, and what to write instead."""
    return f"{describe_syntax(node)} is not supported in a kernel{WAY_OUT.get(type(node).__name__, '')}"


def describe_syntax(node: ast.AST) -> str:
    name = type(node).__name__
    named = {"Lambda": "a lambda", "ListComp": "a comprehension", "ClassDef": "a class", "FunctionDef": "a function inside",
             "Import": "an import", "Delete": "del", **{n: n.lower() for n in ("Try", "Raise", "Break", "Continue", "Match")}}
    return named.get(name, f"Python's {name}")


def describe_value(x: Any) -> str:
    return f"{len(x)} values" if isinstance(x, Lanes) else f"the buffer '{x.name}'" if isinstance(x, Buffer) else values.describe(x)

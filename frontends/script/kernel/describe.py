"""Errors for constructs of Python that a kernel does not have."""

import ast

WAY_OUT = {
    "Break": ": a while loop with a flag ends early", "Continue": ": put the rest of the loop under an if", "Lambda": ": define it outside",
    "FunctionDef": ": a macro stands outside, under @T.macro", "ListComp": ": make lists outside, and take their elements",
    "Try": "", "Import": ": import outside",
}
NAMED = {"Lambda": "a lambda", "ListComp": "a comprehension", "ClassDef": "a class", "FunctionDef": "a function inside",
         "Import": "an import", "Delete": "del", **{n: n.lower() for n in ("Try", "Raise", "Break", "Continue", "Match")}}


def not_in_kernels(node: ast.AST) -> str:
    """The error for a construct of Python that has no meaning in a kernel, with what to write instead."""
    name = type(node).__name__
    shown = NAMED.get(name, f"Python's {name}")
    return f"{shown} is not supported in a kernel{WAY_OUT.get(name, '')}"

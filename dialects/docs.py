"""The reference of the dialects, generated from their classes: ``python -m legato.dialects.docs docs`` writes relax-ops.md and
tir-ops.md."""

import inspect
import re
import sys
from pathlib import Path

import numpy as np

from legato.core.dtypes import spelling
from legato.core.ir_helpers import present
from legato.dialects.relax import OPS
from legato.dialects.relax.attributes import REQUIRED, Attribute
from legato.dialects.relax.op import ANY
from legato.dialects.tir.dialect import Tir

_HEAD = """# The relax dialect

<!-- Made by `python -m legato.dialects.docs docs`; a test keeps it up to date. -->

Graphs of tensor ops. A graph is a `func.func`; its values are builtin ranked tensors. Sizes that are not known at compile time are named
in the type's encoding: `tensor<?x768xf32, #relax.dims<["n", 768]>>`. Each is an integer, a symbol, an expression of symbols (`"n * 4"`;
`+ - * // %`, `min(a, b)`, `max(a, b)`, `broadcast(a, b)`: b where a is 1, else a), or `"?"` for one without a name. Symbols stand for
sizes of 1 or more, and are never broadcast: where an op needs two sizes to be equal that may be, each call checks that they are.
A tensor has at most 2**56 bytes: more is an error of the op, or of the call whose sizes would make it so, before anything runs.

An attribute that is equal to its default is left out of the text. Operands of one op have one element type, except where it says "of its
own". From Python, `relax.<op>(operands..., attribute=value, ...)` builds an op and infers its result type. f16 and bf16 are computed in f32
and rounded once.
"""


EXAMPLE = re.compile(r"%y = [^%]*(.*?)(?: \{.*\})?\s*:\s*\((.*?)\)\s*->\s*(.*)", re.DOTALL)


def summary(cls: type) -> str:
    """The documentation of an op without its example."""
    return re.sub(r"```mlir\n.*?```", "", inspect.getdoc(cls) or "", flags=re.DOTALL).strip()


def example(cls: type) -> str | None:
    """The example in an op's documentation, as MLIR text. None if it has none."""
    found = re.search(r"```mlir\n(.*?)```", inspect.getdoc(cls) or "", flags=re.DOTALL)
    return found.group(1).strip() if found else None


def example_module(cls: type) -> str:
    """The example as a function whose arguments are the op's operands. ValueError if the op has no example."""
    text = example(cls)
    if text is None:
        raise ValueError(f"{cls.OPERATION_NAME} has no example")
    operands, types, result = present(EXAMPLE.fullmatch(text)).groups()
    names = re.findall(r"%\w+", operands)
    typed = zip(names, re.findall(r"tensor<.*?>(?=, tensor<|$)", types), strict=True)
    return f"func.func @example({', '.join(f'{n}: {t}' for n, t in typed)}) -> {result} {{\n  {text}\n  return %y : {result}\n}}\n"


def op_reference() -> str:
    """Markdown with the documentation, example, operands and attributes of each relax op, by family."""
    families: dict[str, list[str]] = {}
    for name, cls in OPS.items():
        family = (inspect.getdoc(sys.modules[cls.__module__]) or "").split("\n")[0]
        families.setdefault(family, []).append(_op(name, cls))
    parts = [_HEAD]
    for family, ops in families.items():
        parts += [f"\n## {family.rstrip('.')}\n", *ops]
    return "".join(parts)


def _op(name: str, cls: type) -> str:
    lines = [f"\n### {name}\n", f"\n{summary(cls)}\n", f"\n```mlir\n{example(cls)}\n```\n"]
    if cls.OPERANDS or cls.ATTRIBUTES:
        lines.append("\n")
    for operand in cls.OPERANDS:
        kinds = "any" if operand.kinds == ANY else " or ".join(k for k in ("float", "int", "uint", "bool") if k in operand.kinds)
        own = " of its own" if operand.own_dtype else ""
        lines.append(f"- operand `{operand.name}`: {kinds} elements{own}{f'; {operand.doc}' if operand.doc else ''}\n")
    lines += [f"- attribute `{attribute.name}`: {_attribute(attribute)}\n" for attribute in cls.ATTRIBUTES.values()]
    return "".join(lines)


def _attribute(attribute: Attribute) -> str:
    if attribute.default is REQUIRED:
        default = "required"
    elif attribute.default is None:
        default = "may be absent"
    else:
        value = attribute.normalize(attribute.default)
        default = f"default `{spelling(value) if isinstance(value, np.dtype) else value}`"
    return f"{attribute.expects}; {default}{f'; {attribute.doc}' if attribute.doc else ''}"


def _tir_ops() -> str:
    """Markdown: the ops of tir with their texts."""
    return "".join(f"\n## tir.{op._op_name}\n\n{inspect.getdoc(op)}\n" for op in sorted(Tir.operations, key=lambda op: op._op_name))


def references() -> dict[str, str]:
    """The contents of the reference's files, by file name."""
    made = "<!-- Made by `python -m legato.dialects.docs docs`; a test keeps it up to date. -->"
    return {"relax-ops.md": op_reference(), "tir-ops.md": f"# The tir dialect\n\n{made}\n\n{inspect.getdoc(Tir)}\n{_tir_ops()}"}


if __name__ == "__main__":
    for file_name, content in references().items():
        (Path(sys.argv[1]) / file_name).write_text(content)

"""Annotations of loops, blocks and functions: they change no value, and are kept as attributes where MLIR has one for them."""

import ast
from typing import Any

from legato.core.ir_helpers import plain_attribute
from legato.core.mlir import ir
from legato.frontends.script.language.marks import report, without_prefix
from legato.frontends.script.language.source import Source

NOTES = "annotations"


def noted(source: Source, op: ir.Operation, dictionary: ast.expr | None) -> None:
    """Attaches the constants of a dictionary to a loop or a block as annotations. Other entries are dropped, with a warning."""
    found = {key: made for key, value in constants(dictionary).items() if (made := attribute(value)) is not None}
    for key in dictionary.keys if isinstance(dictionary, ast.Dict) else ():
        if isinstance(key, ast.Constant) and key.value not in found:
            report(source, key, f"the annotation {key.value!r} is dropped: numbers, texts, and lists and dictionaries of them are kept")
    if found:
        op.attributes[NOTES] = ir.DictAttr.get(found)


def is_scheduled(call: ast.Call) -> bool:
    """Whether a T.func_attr has ``"tir.is_scheduled": True`` (``tirx.`` in newer TVM): the kernel keeps its loops as they are written."""
    given = [constants(a) for a in (*call.args, *(k.value for k in call.keywords))]
    return any(without_prefix(key) == "is_scheduled" and value in (True, 1) for marks in given for key, value in marks.items())


def constants(dictionary: ast.expr | None) -> dict[str, Any]:
    """The entries of a dictionary's syntax whose key is a text and whose value is a constant."""
    found = {}
    if isinstance(dictionary, ast.Dict):
        for key, value in zip(dictionary.keys, dictionary.values):
            try:
                found[ast.literal_eval(key)] = ast.literal_eval(value)
            except (ValueError, TypeError):
                continue
    return {key: value for key, value in found.items() if isinstance(key, str)}


def attribute(value: Any) -> ir.Attribute | None:
    """A Python constant as an attribute; None for what has none."""
    if isinstance(value, dict):
        entries = {key: attribute(v) for key, v in value.items()}
        found = {key: v for key, v in entries.items() if isinstance(key, str) and v is not None}
        return ir.DictAttr.get(found) if len(found) == len(entries) else None
    if isinstance(value, (list, tuple)):
        made = [attribute(v) for v in value]
        return None if any(one is None for one in made) else ir.ArrayAttr.get([one for one in made if one is not None])
    return plain_attribute(value)

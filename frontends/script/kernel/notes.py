"""Annotations of loops, blocks and functions: they change no value, and are kept as attributes where MLIR has one for them."""

import ast
from collections.abc import Sequence
from typing import Any

from legato.core.mlir import ir

NOTES = "annotations"


def noted(op: ir.Operation, dictionary: ast.expr | None) -> None:
    """Attaches the constants of a dictionary to a loop or a block as annotations. Other entries are dropped."""
    found = {key: made for key, value in constants(dictionary).items() if (made := attribute(value)) is not None}
    if found:
        op.attributes[NOTES] = ir.DictAttr.get(found)


def is_scheduled(attributes: Sequence[ast.expr]) -> bool:
    """Whether one of T.func_attr's dictionaries has ``"tir.is_scheduled": True``: the kernel keeps its loops as they are written."""
    return any(constants(a).get("tir.is_scheduled") in (True, 1) for a in attributes)


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
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f64(value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, dict):
        entries = {key: attribute(v) for key, v in value.items()}
        found = {key: v for key, v in entries.items() if isinstance(key, str) and v is not None}
        return ir.DictAttr.get(found) if len(found) == len(entries) else None
    if isinstance(value, (list, tuple)):
        made = [attribute(v) for v in value]
        return None if any(one is None for one in made) else ir.ArrayAttr.get([one for one in made if one is not None])
    return None

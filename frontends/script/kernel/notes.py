"""Notes of a kernel's script that change no value: annotations of loops and blocks, attributes of the function."""

import ast
from collections.abc import Sequence
from typing import Any

from legato.core.mlir import ir

NOTES = "annotations"


def noted(op: ir.Operation, dictionary: ast.expr | None) -> None:
    """Notes what a dictionary of constants says on a loop or a block. Anything else in it is a hint to others, and left out."""
    found = {key: made for key, value in constants(dictionary).items() if (made := attribute(value)) is not None}
    if found:
        op.attributes[NOTES] = ir.DictAttr.get(found)


def is_scheduled(attributes: Sequence[ast.expr]) -> bool:
    """Whether one of the dictionaries that T.func_attr is given says that the kernel has its schedule."""
    return any(constants(a).get("tir.is_scheduled") in (True, 1) for a in attributes)


def constants(dictionary: ast.expr | None) -> dict[str, Any]:
    found = {}
    if isinstance(dictionary, ast.Dict):
        for key, value in zip(dictionary.keys, dictionary.values):
            try:
                found[ast.literal_eval(key)] = ast.literal_eval(value)
            except (ValueError, TypeError):
                continue
    return {key: value for key, value in found.items() if isinstance(key, str)}


def attribute(value: Any) -> ir.Attribute | None:
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f64(value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, (list, tuple)):
        made = [attribute(v) for v in value]
        return None if None in made else ir.ArrayAttr.get(made)
    return None

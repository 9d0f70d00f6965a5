"""Calls of packed functions from a graph: ``R.call_dps_packed``, ``R.call_packed``, ``R.call_pure_packed``."""

import ast
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.frontends.script.graph.arguments import RESULT_TYPES, call_arguments, one_or_tuple
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.graph.sizes import packed_types
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo, TupleInfo


def call_dps_packed(parser: GraphParser, node: ast.Call) -> Any:
    """``R.call_dps_packed("name", (x, 3, "text"), R.Tensor(...))``: the function writes its outputs, which it is given last."""
    given = call_arguments(parser, node, packed_argument)
    if not isinstance(given.callee, str):
        raise parser.error("R.call_dps_packed calls a packed function by its name", node)
    operands = given.operands if given.integers is None else [*given.operands, *given.integers.sizes]
    return one_or_tuple(relax.call_dps_packed(given.callee, operands, *given.outputs), given.several)


def call_pure_packed(parser: GraphParser, node: ast.Call) -> Any:
    """``R.call_pure_packed("name", ...)``: as ``R.call_packed``, of a function without effects."""
    return call_packed(parser, node, pure=True)


def call_packed(parser: GraphParser, node: ast.Call, pure: bool = False) -> Any:
    """``R.call_packed("name", x, 3, "text", sinfo_args=R.Tensor(("m", 4), "float32"))``: a function that returns tensors of its own.

    Several results have the type ``R.Tuple(R.Tensor(...), ...)``, none ``R.Tuple()``. A new name of a size gets its value from a result.
    """
    keywords = {k.arg: k.value for k in node.keywords}
    types = next((keywords.pop(n) for n in RESULT_TYPES if n in keywords), None)
    if not node.args or types is None or set(keywords) - {"attrs"}:
        unknown = ", ".join(sorted(set(map(str, keywords)) - {"attrs"}))
        raise Misuse('R.call_packed("name", arguments..., sinfo_args=R.Tensor(...))' + (f" has no {unknown}" if unknown else " says both"))
    callee = parser.expression(node.args[0])
    if not isinstance(callee, str):
        raise parser.error("R.call_packed calls a packed function by its name", node.args[0])
    operands = [packed_argument(parser, parser.expression(a), a) for a in node.args[1:]]
    info = parser.python(types)
    if isinstance(info, (list, tuple)) and len(info) == 1:   # sinfo_args is a list in TVM, of one type
        info = info[0]
    several = info is None or isinstance(info, (list, tuple, TupleInfo))
    infos = [] if info is None else list(info.fields if isinstance(info, TupleInfo) else info) if several else [info]
    results = packed_types(parser, callee, infos, types)
    return one_or_tuple(relax.call_packed(callee, operands, *results, pure=pure), several)


def packed_argument(parser: GraphParser, value: Any, node: ast.expr) -> Any:
    """An argument of a packed function: a tensor, a number, a text, a shape as a list, a size. ScriptError for anything else."""
    if isinstance(value, ShapeInfo):
        return list(value.sizes)
    if isinstance(value, (ir.Value, bool, int, float, str, dims.Dim, np.integer, np.floating)):
        return value.item() if isinstance(value, (np.integer, np.floating)) else value
    raise parser.error("a packed function takes tensors, numbers, texts, R.shape([...]) and sizes", node)

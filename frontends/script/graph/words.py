"""The words of ``R`` that are not ops: calls of kernels and packed functions, constants, shapes, tuples."""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.constants import const, constant, weight
from legato.frontends.script.graph.elements import element_of
from legato.frontends.script.graph.functions import call_function
from legato.frontends.script.graph.kernels import call_tir, call_tir_inplace
from legato.frontends.script.graph.matching import match_cast
from legato.frontends.script.graph.ops import build
from legato.frontends.script.graph.packed import call_dps_packed, call_packed, call_pure_packed
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.graph.sizes import check_sizes
from legato.frontends.script.language.evaluate import spread
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo

ANNOTATIONS = ("Tensor", "Shape", "Tuple")


def call(parser: GraphParser, node: ast.Call) -> Any:
    """A call of any kind: a word of WORDS, an op, a type, or a function."""
    word = parser.word(node)
    if word is None:
        return call_function(parser, node)
    namespace, _, name = word.partition(".")
    if namespace != "R" or name in ANNOTATIONS:
        return parser.python(node)
    if name in WORDS:
        return WORDS[name](parser, node)
    arguments = spread(parser, node.args)
    made = build(name, arguments, {str(k.arg): parser.expression(k.value) for k in node.keywords})
    for value in made if isinstance(made, tuple) else (made,):
        if isinstance(value, ir.Value):
            check_sizes(parser, value)
    return constant(parser, made, name) if isinstance(made, np.ndarray) else made


def only(parser: GraphParser, node: ast.Call) -> Any:
    """The value of a call's one argument: ``R.prim_value(n)``, ``R.extern("name")``."""
    if len(node.args) != 1 or node.keywords:
        raise Misuse(f"{parser.word(node)} takes one argument")
    return parser.expression(node.args[0])


def shape(parser: GraphParser, node: ast.Call) -> ShapeInfo:
    """``R.shape([n, 4])``."""
    found = only(parser, node)
    if isinstance(found, ShapeInfo):
        return found
    if not isinstance(found, (tuple, list)) or any(
            isinstance(s, bool) or not isinstance(s, (int, np.integer, dims.Dim)) for s in found):
        raise Misuse("R.shape takes sizes, integers and expressions of them: R.shape([n * 2, 4])")
    return ShapeInfo(tuple(found))


def shape_of(parser: GraphParser, node: ast.Call) -> ShapeInfo:
    """``R.shape_of(x)``."""
    value = only(parser, node)
    if not isinstance(value, ir.Value):
        raise Misuse(f"{parser.word(node)} takes a tensor")
    return ShapeInfo(dims.dims(value.type))


def tuple_of(parser: GraphParser, node: ast.Call) -> tuple[Any, ...]:
    """``R.tuple(x, y)``."""
    return tuple(spread(parser, node.args))


def tuple_item(parser: GraphParser, node: ast.Call) -> Any:
    """``R.TupleGetItem(t, 1)``."""
    if len(node.args) != 2 or node.keywords:
        raise Misuse("R.TupleGetItem takes a tuple and a number")
    return element_of(parser, ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node))


WORDS: dict[str, Callable[[GraphParser, ast.Call], Any]] = {
    "call_tir": call_tir, "call_tir_inplace": call_tir_inplace, "call_dps_packed": call_dps_packed, "call_packed": call_packed,
    "call_pure_packed": call_pure_packed, "match_cast": match_cast, "const": const, "weight": weight, "shape": shape, "shape_of": shape_of,
    "tuple": tuple_of, "TupleGetItem": tuple_item, "prim_value": only, "str": only, "ExternFunc": only, "extern": only,
}

"""The expressions of a graph, by the class of their syntax node."""

import ast
from types import SimpleNamespace
from typing import Any

import numpy as np

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.branches import combined, compared
from legato.frontends.script.graph.constants import constant
from legato.frontends.script.graph.elements import element_of
from legato.frontends.script.graph.ops import build
from legato.frontends.script.graph.parser import GraphParser, described, unsupported
from legato.frontends.script.graph.words import call
from legato.frontends.script.language.evaluate import spread
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ScalarType

BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Pow: "power",
          ast.Mod: "floor_mod", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
          ast.LShift: "left_shift", ast.RShift: "right_shift"}
COMPARE = {ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal", ast.NotEq: "not_equal"}
UNARY = {ast.USub: "negative", ast.Invert: "bitwise_not", ast.Not: "logical_not"}


def literal(parser: GraphParser, node: ast.Constant) -> Any:
    """``1``, ``2.0``, ``"text"``."""
    return node.value


def name(parser: GraphParser, node: ast.Name) -> Any:
    """A local name, a size, a captured name, or a function of the class."""
    for table in (parser.scope, parser.symbols, parser.source.names):
        if node.id in table:
            value = table[node.id]
            if isinstance(value, np.ndarray):
                return constant(parser, value, node.id)
            return value.dtype if isinstance(value, ScalarType) else value
    program = parser.program
    if node.id in program.members:
        return program.members[node.id]
    if program.class_name and node.id in (program.class_name, "cls"):
        return SimpleNamespace(**program.members)
    raise Misuse(f"'{node.id}' is not defined")


def attribute(parser: GraphParser, node: ast.Attribute) -> Any:
    """``cls.kernel``, ``x.shape``, ``module.NUMBER``."""
    if isinstance(node.value, ast.Name):
        found = parser.program.member(node.value.id, node.attr, {**parser.source.names, **parser.scope})
        if found is not None:
            return found
    word = parser.word(node)
    if word is not None:
        raise Misuse(f"{word} is a word of the script, not a value")
    base = parser.expression(node.value)
    if isinstance(base, ir.Value):
        base = described(base)
    if node.attr.startswith("__") or not hasattr(base, node.attr):
        raise Misuse(f"there is no '{node.attr}' in {ast.unparse(node.value)}")
    return getattr(base, node.attr)


def elements(parser: GraphParser, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
    """``(a, b)``, ``[a, *rest]``."""
    return tuple(spread(parser, node.elts))


def in_python(parser: GraphParser, node: ast.JoinedStr | ast.Dict) -> Any:
    """A formatted text or a dictionary, evaluated in Python."""
    return parser.python(node)


def binary_operator(parser: GraphParser, node: ast.BinOp) -> Any:
    """``x + y``: the op where one is a tensor, else evaluated in Python."""
    if type(node.op) not in BINARY:
        return unsupported(parser, node)
    left, right = parser.expression(node.left), parser.expression(node.right)
    if isinstance(left, ir.Value) or isinstance(right, ir.Value):
        return build(BINARY[type(node.op)], [left, right], {})
    return parser.python(node)


def comparison(parser: GraphParser, node: ast.Compare) -> Any:
    """``x < y``: the op where one is a tensor, a SizeTest where one is a size, else evaluated in Python."""
    if len(node.ops) != 1 or type(node.ops[0]) not in COMPARE:
        return unsupported(parser, node)
    left, right = parser.expression(node.left), parser.expression(node.comparators[0])
    if isinstance(left, ir.Value) or isinstance(right, ir.Value):
        return build(COMPARE[type(node.ops[0])], [left, right], {})
    if isinstance(left, dims.Dim) or isinstance(right, dims.Dim):
        return compared(node, left, right)
    return parser.python(node)


def unary_operator(parser: GraphParser, node: ast.UnaryOp) -> Any:
    """``-x``, ``+x``, ``~x``, ``not x``: the op of a tensor, else evaluated in Python."""
    x = parser.expression(node.operand)
    if isinstance(x, ir.Value):
        return x if isinstance(node.op, ast.UAdd) else build(UNARY[type(node.op)], [x], {})
    return combined("not", [x]) if isinstance(node.op, ast.Not) else parser.python(node)


def boolean_operator(parser: GraphParser, node: ast.BoolOp) -> Any:
    """``a and b``, ``a or b``, of bools and size tests."""
    return combined("and" if isinstance(node.op, ast.And) else "or", [parser.expression(v) for v in node.values])


EXPRESSIONS = {
    ast.Constant: literal, ast.Name: name, ast.Attribute: attribute, ast.Subscript: element_of, ast.Tuple: elements, ast.List: elements,
    ast.JoinedStr: in_python, ast.Dict: in_python, ast.Call: call, ast.BinOp: binary_operator, ast.Compare: comparison,
    ast.UnaryOp: unary_operator, ast.BoolOp: boolean_operator,
}

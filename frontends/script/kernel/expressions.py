"""The expressions of a kernel, by the class of their syntax node."""

import ast
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary, invert, logical, logical_not, negate
from legato.frontends.script.kernel.assignments import Cell
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.calls import call
from legato.frontends.script.kernel.elements import describe_value, indices, load
from legato.frontends.script.kernel.forms import if_then_else
from legato.frontends.script.kernel.lanes import LaneValues, lifted
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.pointers import pointer, strides_in_memory
from legato.frontends.script.kernel.python_calls import captured
from legato.frontends.script.kernel.values import Scalar, dtype_of
from legato.frontends.script.language.evaluate import spread
from legato.frontends.script.language.source import Misuse

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
          ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Pow: "**"}
UNARY = {ast.USub: negate, ast.Invert: invert, ast.Not: logical_not, ast.UAdd: lambda v: v}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def constant(parser: KernelParser, node: ast.Constant) -> Any:
    """``1``, ``2.0``, ``True``, ``"text"``, ``None``."""
    if isinstance(node.value, (bool, int, float, str)) or node.value is None:
        return node.value
    raise Misuse(f"{node.value!r} has no meaning in a kernel")


def formatted(parser: KernelParser, node: ast.JoinedStr) -> str:
    """``f"{name}_{size}"``, of values known at parse time."""
    return str(parser.python(node))


def name(parser: KernelParser, node: ast.Name) -> Any:
    """A local name, or a captured one."""
    if node.id in parser.scope:
        found = parser.scope[node.id]
        return found.buffer.load([]) if isinstance(found, Cell) else found
    if node.id in parser.symbols:
        raise Misuse(f"the size '{node.id}' has no value here: no buffer has it as a size of its own")
    if node.id not in parser.source.names:
        raise Misuse(f"'{node.id}' is not defined")
    return captured(node.id, parser.source.names[node.id])


def attribute(parser: KernelParser, node: ast.Attribute) -> Any:
    """``A.shape``, ``x.dtype``, ``module.NUMBER``."""
    word = parser.word(node)
    if word is not None:
        raise Misuse(f"{word} is a word of the script, not a value")
    base = parser.expression(node.value)
    if isinstance(base, Buffer):
        return buffer_attribute(base, node.attr)
    if isinstance(base, Scalar):
        if node.attr == "dtype":
            return base.dtype
        raise Misuse(f"a value has no '{node.attr}'")
    if not hasattr(base, node.attr) or isinstance(base, LaneValues):
        raise Misuse(f"{describe_value(base)} has no '{node.attr}'")
    return captured(node.attr, getattr(base, node.attr))


def buffer_attribute(buffer: Buffer, name: str) -> Any:
    """``A.shape``, ``A.strides``, ``A.data``, ...: the attributes of a buffer in scripts."""
    if name in ("shape", "dtype", "name"):
        return getattr(buffer, name)
    if name == "strides":
        return strides_in_memory(buffer)
    if name == "elem_offset":
        return buffer.offset()
    if name == "data":
        return pointer(buffer, [0] * buffer.rank)
    raise Misuse(f"a buffer has shape, strides, elem_offset, dtype, name, data; not '{name}'")


def subscript(parser: KernelParser, node: ast.Subscript) -> Any:
    """An element of a buffer, or of a tuple or another Python value."""
    base = parser.expression(node.value)
    if isinstance(base, Buffer):
        return load(base, indices(parser, node.slice, base))
    if isinstance(base, (Scalar, LaneValues)):
        raise Misuse("elements can be taken of buffers and tuples; this is a value")
    at = parser.python(node.slice) if isinstance(node.slice, ast.Slice) else parser.expression(node.slice)
    try:
        return base[at]
    except (TypeError, IndexError, KeyError) as error:
        raise Misuse(f"no element {describe_value(at)} of this: {error}") from None


def elements(parser: KernelParser, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
    """``(a, b)``, ``[a, *rest]``."""
    return tuple(spread(parser, node.elts))


def named_expression(parser: KernelParser, node: ast.NamedExpr) -> Any:
    """``(x := value)``: refused."""
    raise Misuse("a name is given a value by a statement of its own")


def dictionary(parser: KernelParser, node: ast.Dict) -> Any:
    """A dictionary of Python values: annotations of loops and blocks."""
    return parser.python(node)


def binary_operator(parser: KernelParser, node: ast.BinOp) -> Any:
    """``a + b`` of numbers; of texts and tuples in Python."""
    if type(node.op) not in BINARY:
        raise Misuse("a kernel has the operators + - * / // % ** << >> & | ^")
    op, left, right = BINARY[type(node.op)], parser.expression(node.left), parser.expression(node.right)
    if isinstance(left, (tuple, str)) and isinstance(right, (tuple, str, int)) and op in ("+", "*", "%"):
        return parser.python(node)
    return lifted(lambda a, b: binary(op, a, b), left, right)


def unary_operator(parser: KernelParser, node: ast.UnaryOp) -> Any:
    """``-a``, ``+a``, ``~a``, ``not a``."""
    def apply(x: Any) -> Any:
        dtype_of(x)  # Misuse for anything but a number
        return UNARY[type(node.op)](x)

    return lifted(apply, parser.expression(node.operand))


def boolean_operator(parser: KernelParser, node: ast.BoolOp) -> Any:
    """``a and b``, ``a or b``; all operands are evaluated."""
    word = "and" if isinstance(node.op, ast.And) else "or"
    total = parser.expression(node.values[0])
    for other in node.values[1:]:
        total = lifted(lambda a, b: logical(word, a, b), total, parser.expression(other))
    return total


def comparison(parser: KernelParser, node: ast.Compare) -> Any:
    """``a < b``, ``a <= b < c``."""
    total, left = None, parser.expression(node.left)
    for op, operand in zip(node.ops, node.comparators):
        if type(op) not in COMPARE:
            raise Misuse("a kernel compares numbers, by == != < <= > >=")
        right = parser.expression(operand)
        one = compare_any(COMPARE[type(op)], left, right)
        total = one if total is None else lifted(lambda a, b: logical("and", a, b), total, one)
        left = right
    return total


def compare_any(op: str, left: Any, right: Any) -> Any:
    """Compares texts (names of types, say) and tuples when the kernel is parsed; numbers as ``binary`` does."""
    if isinstance(left, (str, tuple)) or isinstance(right, (str, tuple)) or left is None or right is None:
        if op not in ("==", "!="):
            raise Misuse("texts and tuples are the same or not, nothing else")
        return (left == right) == (op == "==")
    return lifted(lambda a, b: binary(op, a, b), left, right)


def choice(parser: KernelParser, node: ast.IfExp) -> Any:
    """``a if test else b``."""
    return if_then_else(parser, node.test, node.body, node.orelse)


EXPRESSIONS = {
    ast.Constant: constant, ast.JoinedStr: formatted, ast.Name: name, ast.Attribute: attribute, ast.Subscript: subscript,
    ast.Tuple: elements, ast.List: elements, ast.Dict: dictionary, ast.NamedExpr: named_expression, ast.Call: call,
    ast.BinOp: binary_operator, ast.UnaryOp: unary_operator, ast.BoolOp: boolean_operator, ast.Compare: comparison, ast.IfExp: choice,
}

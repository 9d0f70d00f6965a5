"""The expressions of a kernel's script."""

import ast
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from legato.analysis.linear import linear
from legato.core.errors import LegatoError
from legato.dialects.relax import dims
from legato.frontends.script.kernel import values
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.describe import describe_value, not_in_kernels
from legato.frontends.script.kernel.lanes import Lanes, lanes_of, lifted
from legato.frontends.script.kernel.pointers import pointer, strides_in_memory
from legato.frontends.script.kernel.values import Scalar, as_index
from legato.frontends.script.language.faces import Face, T, word_path
from legato.frontends.script.language.source import Problem, ScriptError, Source
from legato.frontends.script.language.types import ScalarType

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
          ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Pow: "**"}
OLDER = {"ramp": "Ramp", "broadcast": "Broadcast", "shuffle": "Shuffle", "select": "Select"}  # other spellings of words
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Cell:
    """A variable that changes (``x: T.float32 = 0.0``, assigned to again): a buffer of one element, whose name is its value."""

    def __init__(self, buffer: Buffer):
        self.buffer = buffer


class Expressions:
    """Evaluates expressions to values of the script: Scalars, Python values, Buffers."""

    def __init__(self, source: Source, face: Face = T):
        self.source, self.face = source, face
        self.scope: dict[str, Any] = {}
        self.symbols: dict[str, Any] = {}
        self.expanding: list[Any] = []  # macros that are being put in their places

    # --- words of the language ---

    def word(self, node: ast.AST) -> str | None:
        """The name of the language's word that a call calls, or an expression is: ``axis.spatial`` for ``T.axis.spatial(...)``."""
        path = word_path(node, self.source.names, self.scope)
        if path is None:
            return None
        word = ".".join(path[1:])
        return OLDER.get(word, word) or None

    def evaluate_type(self, node: ast.expr) -> Any:
        """An annotation: what Python makes of it, with the names of sizes."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.python(self.source.parsed(node.value, node), node)
        return self.python(node)

    def python(self, node: ast.expr, at: ast.AST | None = None) -> Any:
        """What Python makes of an expression whose names are captured ones and sizes."""
        plain = {k: v for k, v in self.scope.items() if isinstance(v, (int, float, str, tuple))}
        return self.source.evaluate(node, {**self.symbols, **plain}, at)

    # --- expressions ---

    def expression(self, node: ast.expr) -> Any:
        """The value of an expression, built at the insertion point."""
        method = getattr(self, f"expression_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(not_in_kernels(node), node)
        try:
            return method(node)
        except Problem as problem:
            raise self.source.error(str(problem), node) from None
        except ScriptError:
            raise
        except LegatoError as error:
            raise self.source.error(str(error), node) from error

    def expression_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bool, int, float, str)) or node.value is None:
            return node.value
        raise Problem(f"{node.value!r} has no meaning in a kernel")

    def expression_JoinedStr(self, node: ast.JoinedStr) -> str:
        """A formatted text of what is known when the kernel is parsed: ``f"{name}_{size}"``."""
        return str(self.python(node))

    def expression_Name(self, node: ast.Name) -> Any:
        if node.id in self.scope:
            found = self.scope[node.id]
            return found.buffer.load([]) if isinstance(found, Cell) else found
        if node.id in self.symbols:
            raise Problem(f"the size '{node.id}' has no value here: no buffer has it as a size of its own")
        if node.id not in self.source.names:
            raise Problem(f"'{node.id}' is not defined")
        return captured(node.id, self.source.names[node.id])

    def expression_Attribute(self, node: ast.Attribute) -> Any:
        word = self.word(node)
        if word is not None:
            raise Problem(f"{word} is a word of the script, not a value")
        base = self.expression(node.value)
        if isinstance(base, Buffer):
            return buffer_attribute(base, node.attr)
        if isinstance(base, Scalar):
            if node.attr == "dtype":
                return base.dtype
            raise Problem(f"a value has no '{node.attr}'")
        if not hasattr(base, node.attr) or isinstance(base, Lanes):
            raise Problem(f"{describe_value(base)} has no '{node.attr}'")
        return captured(node.attr, getattr(base, node.attr))

    def expression_Subscript(self, node: ast.Subscript) -> Any:
        base = self.expression(node.value)
        if isinstance(base, Buffer):
            return self.load(base, self.indices(node.slice, base))
        if isinstance(base, (Scalar, Lanes)):
            raise Problem("elements can be taken of buffers and tuples; this is a value")
        at = self.python(node.slice) if isinstance(node.slice, ast.Slice) else self.expression(node.slice)
        try:
            return base[at]
        except (TypeError, IndexError, KeyError) as error:
            raise Problem(f"no element {describe_value(at)} of this: {error}") from None

    def load(self, buffer: Buffer, indices: list[Any]) -> Any:
        return lifted(lambda *places: buffer.load(list(places)), *indices)

    def store_at(self, buffer: Buffer, indices: list[Any], x: Any) -> None:
        if isinstance(x, Buffer):
            raise Problem(f"'{x.name}' is a buffer: give an element of it")
        if isinstance(x, Lanes) and not any(isinstance(i, Lanes) for i in indices):
            raise Problem(f"{len(x)} values for one element: say which, {buffer.name}[i:i + {len(x)}], or T.Ramp(i, 1, {len(x)})")
        lifted(lambda value, *places: buffer.store(value, list(places)), x, *indices)

    def indices(self, node: ast.expr, buffer: Buffer) -> list[Any]:
        """The indices of an element, or of as many as there are lanes in one of them."""
        found: list[Any] = []
        for element in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(element, ast.Slice):
                found.append(self.slice_lanes(element, buffer, len(found)))
                continue
            value = self.expression(element.value if isinstance(element, ast.Starred) else element)
            found += value if isinstance(value, tuple) else [value]
        return found

    def slice_lanes(self, node: ast.Slice, buffer: Buffer, axis: int) -> Any:
        begin, extent = self.slice_bounds(node, buffer, axis)
        step = 1 if node.step is None else self.expression(node.step)
        if not isinstance(extent, int) or not isinstance(step, int) or step < 1:
            raise self.source.error("how many elements a part of a buffer has must be known when the kernel is parsed: A[i:i + 4]", node)
        if extent == 1:
            return begin
        return lanes_of(-(-extent // step), lambda lane: values.binary("+", begin, lane * step))

    def slice_bounds(self, node: ast.expr, buffer: Buffer, axis: int) -> tuple[Any, Any]:
        """Where an index begins and how far it reaches: a number where that can be seen."""
        if not isinstance(node, ast.Slice):
            return self.expression(node), 1
        if axis >= buffer.rank:
            raise Problem(f"'{buffer.name}' has {buffer.rank} dimensions, and more indices are given")
        begin = 0 if node.lower is None else self.expression(node.lower)
        end = buffer.size(axis) if node.upper is None else self.expression(node.upper)
        for bound in (begin, end):
            if isinstance(bound, float) or (not isinstance(bound, int) and not (isinstance(bound, Scalar) and not bound.is_float)):
                raise Problem(f"a part of a buffer runs from an index to an index, not {describe_value(bound)}")
        extent = values.binary("-", end, begin)
        if isinstance(extent, Scalar):
            form = linear(as_index(end)) - linear(as_index(begin))
            extent = form.constant if form.is_constant else extent
        if isinstance(extent, int) and extent < 1:
            raise Problem(f"a part of {extent} elements")
        return begin, extent

    def expression_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.spread(node.elts))

    def spread(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of expressions; ``*x`` is the elements of a tuple."""
        found: list[Any] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.expression(node))
                continue
            value = self.expression(node.value)
            if not isinstance(value, tuple):
                raise self.source.error("'*' takes the elements of a tuple", node)
            found += value
        return found

    def expression_List(self, node: ast.List) -> tuple[Any, ...]:
        return tuple(self.spread(node.elts))

    def expression_NamedExpr(self, node: ast.NamedExpr) -> Any:
        raise Problem("a name is given a value by a statement of its own")

    def expression_Dict(self, node: ast.Dict) -> Any:
        return self.python(node)

    def expression_BinOp(self, node: ast.BinOp) -> Any:
        if type(node.op) not in BINARY:
            raise Problem("a kernel has the operators + - * / // % ** << >> & | ^")
        op, left, right = BINARY[type(node.op)], self.expression(node.left), self.expression(node.right)
        if isinstance(left, (tuple, str)) and isinstance(right, (tuple, str, int)) and op in ("+", "*", "%"):
            return self.python(node)  # shapes and texts, put together
        return lifted(lambda a, b: values.binary(op, a, b), left, right)

    def expression_UnaryOp(self, node: ast.UnaryOp) -> Any:
        operation = {ast.USub: values.negate, ast.Invert: values.invert, ast.Not: values.logical_not, ast.UAdd: lambda v: v}[type(node.op)]

        def apply(x: Any) -> Any:
            values.dtype_of(x)
            return operation(x)

        return lifted(apply, self.expression(node.operand))

    def expression_BoolOp(self, node: ast.BoolOp) -> Any:
        word = "and" if isinstance(node.op, ast.And) else "or"
        total = self.expression(node.values[0])
        for other in node.values[1:]:
            total = lifted(lambda a, b: values.logical(word, a, b), total, self.expression(other))
        return total

    def expression_Compare(self, node: ast.Compare) -> Any:
        total, left = None, self.expression(node.left)
        for op, right in zip(node.ops, node.comparators):
            if type(op) not in COMPARE:
                raise Problem("a kernel compares numbers, by == != < <= > >=")
            right = self.expression(right)
            one = compare_any(COMPARE[type(op)], left, right)
            total = one if total is None else lifted(lambda a, b: values.logical("and", a, b), total, one)
            left = right
        return total

    def expression_IfExp(self, node: ast.IfExp) -> Any:
        return self.if_then_else(node.test, node.body, node.orelse)

    def if_then_else(self, test: ast.expr, then: ast.expr, other: ast.expr) -> Any:
        """The value of one of two expressions."""
        raise NotImplementedError


def captured(name: str, value: Any) -> Any:
    """A Python value of the surroundings, inside a kernel."""
    if isinstance(value, (bool, int, float, str, tuple, list)) or value is None:
        return tuple(value) if isinstance(value, list) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (FunctionType, ModuleType, BuiltinFunctionType, type)):
        return value
    if isinstance(value, dims.Dim):
        raise Problem(f"the size '{name}' has no value here")
    if isinstance(value, ScalarType):
        return value.dtype
    raise Problem(f"'{name}' is a Python {type(value).__name__}, which has no meaning in a kernel: numbers, texts and tuples of them have")


def buffer_attribute(buffer: Buffer, name: str) -> Any:
    if name in ("shape", "dtype", "name"):
        return getattr(buffer, name)
    if name == "strides":
        return strides_in_memory(buffer)
    if name == "elem_offset":
        return buffer.offset()
    if name == "data":
        return pointer(buffer, [0] * buffer.rank)
    raise Problem(f"a buffer has shape, strides, elem_offset, dtype, name, data; not '{name}'")


def compare_any(op: str, left: Any, right: Any) -> Any:
    """Texts (types of elements, say) are compared when the kernel is parsed; numbers are where they have to be."""
    if isinstance(left, (str, tuple)) or isinstance(right, (str, tuple)) or left is None or right is None:
        if op not in ("==", "!="):
            raise Problem("texts and tuples are the same or not, nothing else")
        return (left == right) == (op == "==")
    return lifted(lambda a, b: values.binary(op, a, b), left, right)

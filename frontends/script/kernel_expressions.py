"""The expressions of a kernel's script."""

import ast
from typing import Any

import numpy as np

from ...dialects import tir
from ...dialects.errors import LegatoError
from ...dialects.relax import dims
from ...mlir import ir, memref
from . import intrinsics, values
from .buffers import Buffer
from .faces import Face, OnlyInScript, T
from .pointers import Pointer, c_value, pointer
from .source import Problem, ScriptError, Source
from .types import BufferType, HandleType, ScalarType, value_type
from .values import Scalar, condition

BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
          ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Pow: "**"}
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Expressions:
    """Evaluates expressions to values of the script: Scalars, Python values, Buffers."""

    def __init__(self, source: Source, face: Face = T):
        self.source, self.face = source, face
        self.scope: dict[str, Any] = {}
        self.symbols: dict[str, Any] = {}

    # --- words of the language ---

    def word(self, node: ast.AST) -> str | None:
        """The name of the language's word that a call calls, or an expression is: ``axis.spatial`` for ``T.axis.spatial(...)``."""
        if isinstance(node, ast.Call):
            node = node.func
        path = []
        while isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope:
            return None
        found = self.source.names.get(node.id)
        if isinstance(found, Face):
            return ".".join(reversed(path)) if path else None
        if isinstance(found, OnlyInScript):  # from legato.script.tir import grid
            return ".".join([found.name.partition(".")[2], *reversed(path)])
        return None

    def evaluate_type(self, node: ast.expr) -> Any:
        """An annotation: what Python makes of it, with the names of sizes."""
        value = node
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                value = ast.parse(node.value, mode="eval").body
            except SyntaxError as error:
                raise self.source.error(f"cannot read the type {node.value!r}", node) from error
        found = self.python(value, node)
        if isinstance(found, (BufferType, HandleType, ScalarType)):
            return found
        return found

    def python(self, node: ast.expr, at: ast.AST | None = None) -> Any:
        """What Python makes of an expression whose names are captured ones and sizes."""
        plain = {k: v for k, v in self.scope.items() if isinstance(v, (int, str, tuple))}
        try:
            return eval(ast.unparse(node), {**self.source.names, **self.symbols, **plain})
        except NameError as error:
            raise self.source.error(f"{error}", at or node) from None
        except (LegatoError, TypeError, ValueError, AttributeError) as error:
            raise self.source.error(f"{error}", at or node) from None

    def size_expression(self, node: ast.expr) -> Any:
        """A shape, a dtype or the like in front of the kernel's statements."""
        return self.python(node)

    # --- expressions ---

    def expression(self, node: ast.expr) -> Any:
        """The value of an expression, built at the insertion point."""
        method = getattr(self, f"expression_{type(node).__name__}", None)
        if method is None:
            raise self.source.error(f"{describe_syntax(node)} is not supported in a kernel", node)
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

    def expression_Name(self, node: ast.Name) -> Any:
        if node.id in self.scope:
            return self.scope[node.id]
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
            if node.attr in ("shape", "dtype", "name"):
                return getattr(base, node.attr)
            if node.attr == "strides":
                return tuple(Scalar(v, "index") for v in memref.ExtractStridedMetadataOp(base.value).results[2 + base.rank:])
            if node.attr == "data":
                return pointer(base, [0] * base.rank)
            raise Problem(f"a buffer has shape, strides, dtype, data, not '{node.attr}'")
        if isinstance(base, Scalar):
            if node.attr == "dtype":
                return base.dtype
            raise Problem(f"a value has no '{node.attr}'")
        if not hasattr(base, node.attr):
            raise Problem(f"{type(base).__name__} has no '{node.attr}'")
        return captured(node.attr, getattr(base, node.attr))

    def expression_Subscript(self, node: ast.Subscript) -> Any:
        base = self.expression(node.value)
        if isinstance(base, Buffer):
            return base.load(self.indices(node.slice))
        at = self.expression(node.slice)
        try:
            return base[at]
        except (TypeError, IndexError, KeyError) as error:
            raise Problem(f"no element {at!r} of this: {error}") from None

    def indices(self, node: ast.expr) -> list[Any]:
        elements = node.elts if isinstance(node, ast.Tuple) else [node]
        for element in elements:
            if isinstance(element, ast.Slice):
                raise self.source.error("a part of a buffer is no value: give one index for each dimension", element)
        return [self.expression(e) for e in elements]

    def expression_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.expression(e) for e in node.elts)

    def expression_List(self, node: ast.List) -> tuple[Any, ...]:
        return self.expression_Tuple(node)

    def expression_Dict(self, node: ast.Dict) -> Any:
        return self.python(node)

    def expression_BinOp(self, node: ast.BinOp) -> Any:
        if type(node.op) not in BINARY:
            raise Problem(f"{describe_syntax(node)} is not supported in a kernel")
        return values.binary(BINARY[type(node.op)], self.expression(node.left), self.expression(node.right))

    def expression_UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.expression(node.operand)
        values.dtype_of(x)
        operation = {ast.USub: values.negate, ast.Invert: values.invert, ast.Not: values.logical_not, ast.UAdd: lambda v: v}
        return operation[type(node.op)](x)

    def expression_BoolOp(self, node: ast.BoolOp) -> Any:
        total = self.expression(node.values[0])
        for other in node.values[1:]:
            total = values.logical("and" if isinstance(node.op, ast.And) else "or", total, self.expression(other))
        return total

    def expression_Compare(self, node: ast.Compare) -> Any:
        total, left = None, self.expression(node.left)
        for op, right in zip(node.ops, node.comparators):
            if type(op) not in COMPARE:
                raise Problem("a kernel compares numbers, by == != < <= > >=")
            right = self.expression(right)
            one = values.binary(COMPARE[type(op)], left, right)
            total = one if total is None else values.logical("and", total, one)
            left = right
        return total

    def expression_IfExp(self, node: ast.IfExp) -> Any:
        return self.if_then_else(node.test, node.body, node.orelse)

    def expression_Call(self, node: ast.Call) -> Any:
        word = self.word(node)
        if word is None and isinstance(node.func, ast.Attribute) and node.func.attr == "access_ptr":
            base = self.expression(node.func.value)
            return pointer(base, [0] * base.rank)
        if word is None:
            called = self.source.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
            if called in (min, max, abs, int, float, bool, len, round):
                return self.call_builtin(called, [self.expression(a) for a in node.args])
            raise Problem("a kernel calls words of the script (T.exp, ...), its macros, min, max and abs; other functions by T.call_extern")
        if word in ("if_then_else",):
            return self.if_then_else(*node.args)
        if word in ("call_extern", "call_pure_extern"):
            return self.call_extern(node)
        if word == "address_of":
            return self.address_of(node.args[0])
        if word not in intrinsics.FUNCTIONS:
            raise Problem(f"{self.face._name}.{word} is not supported as a value in a kernel")
        keywords = [self.expression(k.value) for k in node.keywords if k.arg in ("dtype", "value")]
        arguments = [self.expression(a) for a in node.args] + keywords
        try:
            return intrinsics.FUNCTIONS[word](*arguments)
        except TypeError as error:
            if "argument" not in str(error):
                raise
            raise Problem(f"{self.face._name}.{word}: {str(error).partition('()')[2].strip() or error}") from None

    def call_builtin(self, called: Any, arguments: list[Any]) -> Any:
        if all(not isinstance(a, Scalar) for a in arguments):
            return called(*arguments)
        if called in (min, max) and len(arguments) == 2:
            return values.binary(called.__name__, *arguments)
        if called in (int, float, bool) and len(arguments) == 1:
            return values.cast(arguments[0], {int: "int32", float: "float32", bool: "bool"}[called])
        if called is abs:
            return intrinsics.absolute(*arguments)
        raise Problem(f"{called.__name__}() of these is not supported in a kernel")

    def if_then_else(self, test: ast.expr, then: ast.expr, other: ast.expr) -> Any:
        """The value of one branch; the other one is not computed."""
        test_value = self.expression(test)
        if isinstance(test_value, (bool, int)):
            return self.expression(then if test_value else other)
        trial = ir.Operation.create("scf.if", [], [condition(test_value)], regions=2)
        results = []
        for region, branch in zip(trial.regions, (then, other)):
            with ir.InsertionPoint(region.blocks.append()):
                results.append(self.expression(branch))
        dtype = values.common(*results)
        dtype = {values.INT: "int32", values.FLOAT: "float32"}.get(dtype, dtype)
        made = ir.Operation.create("scf.if", [value_type(dtype)], [trial.operands[0]], regions=2)
        for old, new, result in zip(trial.regions, made.regions, results):
            block = new.blocks.append()
            for op in list(old.blocks[0].operations):
                block.append(op)
            with ir.InsertionPoint(block):
                ir.Operation.create("scf.yield", [], [values.convert(result, dtype).value])
        trial.erase()
        return Scalar(made.results[0], dtype)

    # --- calls of C ---

    def call_extern(self, node: ast.Call) -> Scalar | None:
        """``T.call_extern("float32", "f", x, ...)``; the older ``T.call_extern("f", x, ..., dtype="float32")``."""
        arguments = [self.expression(a) for a in node.args]
        keywords = {k.arg: self.expression(k.value) for k in node.keywords}
        dtype = keywords.get("dtype")
        if dtype is None:
            dtype, *arguments = arguments
        name, *arguments = arguments
        if not isinstance(name, str) or not isinstance(dtype, str):
            raise Problem("T.call_extern takes the type of its result and the function's name, then the arguments")
        results = [] if dtype in ("void", "handle", "") else [value_type(intrinsics.check_dtype(dtype))]
        operands = [a.value if isinstance(a, Pointer) else pointer(a, [0] * a.rank).value if isinstance(a, Buffer) else c_value(a)
                    for a in arguments]
        made = tir.call_extern(name, operands, results)
        return Scalar(made[0], dtype) if made else None

    def address_of(self, node: ast.expr) -> Pointer:
        if not isinstance(node, ast.Subscript) or not isinstance(buffer := self.expression(node.value), Buffer):
            raise Problem("T.address_of takes an element of a buffer: T.address_of(A[i, j])")
        return pointer(buffer, self.indices(node.slice))


def captured(name: str, value: Any) -> Any:
    """A Python value of the surroundings, inside a kernel."""
    if isinstance(value, (bool, int, float, str, tuple, list)) or value is None:
        return tuple(value) if isinstance(value, list) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dims.Dim):
        raise Problem(f"the size '{name}' has no value here")
    if isinstance(value, ScalarType):
        return value.dtype
    raise Problem(f"'{name}' is a Python {type(value).__name__}, which has no meaning in a kernel: numbers, texts and tuples of them have")


def describe_syntax(node: ast.AST) -> str:
    return {"Lambda": "a lambda", "ListComp": "a comprehension", "While": "a while loop", "Try": "try", "ClassDef": "a class",
            "FunctionDef": "a function inside", "Import": "an import", "Assert": "assert", "Return": "return with a value",
            "Delete": "del", "Raise": "raise", "JoinedStr": "a formatted text"}.get(type(node).__name__, f"Python's {type(node).__name__}")



"""The expressions of a graph's script: ops, calls, constants, shapes."""

import ast
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.core.ir_helpers import find
from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.relax.calls import fresh_name
from legato.frontends.script.graph.calls import call_dps_packed, call_packed, call_tir
from legato.frontends.script.graph.inplace import call_tir_inplace
from legato.frontends.script.graph.ops import build
from legato.frontends.script.language.faces import R, word_path
from legato.frontends.script.language.functions import RelaxFunc
from legato.frontends.script.language.source import Problem, ScriptError
from legato.frontends.script.language.types import ScalarType, ShapeInfo, TensorInfo, dtype_name
from legato.frontends.script.program import Program
from legato.frontends.script.tvm.values import describe, dtype_of, element, ints, numpy_type

BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Pow: "power",
          ast.Mod: "floor_mod", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
          ast.LShift: "left_shift", ast.RShift: "right_shift"}
COMPARE = {ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal", ast.NotEq: "not_equal"}
BARE = {"Tensor": R.Tensor, "Shape": R.Shape, "Tuple": R.Tuple}  # types that TVM's first graphs had without the R
LARGE = 1024  # bytes: larger constants go to the weight store


class GraphExpressions:
    """Evaluates expressions to values of the graph and Python values. ``known``: sizes that have turned out to be others.

    ``outer``: who parses the function that calls this one. What is known of symbols is shared with it; the names of sizes are not.
    """

    def __init__(self, program: Program, function: RelaxFunc, known: Mapping[str, Any], inlined: tuple[RelaxFunc, ...] = (),
                 outer: "GraphExpressions | None" = None):
        self.program, self.function, self.source = program, function, function.source
        self.known: dict[str, Any] = outer.known if outer is not None else dict(known)
        self.late: set[str] = outer.late if outer is not None else set()   # symbols that packed functions' results give
        self.counted: set[str] = outer.counted if outer is not None else set()   # and those that ops count, which have their names
        self.required: dict[tuple[str, str], str] = outer.required if outer is not None else {}   # sizes to be the same, and the text
        self.taken: set[str] = outer.taken if outer is not None else names_in(function.source.tree)
        self.renames, self.packed_count = False, 0   # renames: names of sizes are a called function's own
        self.unnamed: set[str] = set()   # symbols of sizes to which the script gives no name
        self.own_symbols: dict[str, Any] = {}   # of an inner function: what its names of sizes are outside
        self.inlined = (*inlined, function)
        self.scope: dict[str, Any] = {}
        self.symbols: dict[str, Any] = {}
        self.main: func.FuncOp = None

    def own_symbol(self, name: str) -> Any:
        """The symbol that a name of this function stands for: its own, where it was called from another."""
        if self.renames and name not in self.own_symbols:
            self.own_symbols[name] = dims.symbol(fresh_name(name, self.taken))
        return self.own_symbols.get(name, dims.symbol(name))

    def word(self, node: ast.AST) -> str | None:
        """``R.nn.relu`` for what an expression is, or calls, in the script's words."""
        path = word_path(node, self.source.names, self.scope)
        return None if path is None else ".".join(path)

    def python(self, node: ast.expr) -> Any:
        """What Python makes of an expression of captured names and sizes; of a tensor, what its type says."""
        at = node
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = self.source.parsed(node.value, node)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & self.scope.keys()
        plain = {k: described(v) if isinstance(v := self.scope[k], ir.Value) else v for k in used}
        bare = {name: made for name, made in BARE.items() if name not in self.source.names}
        return self.source.evaluate(node, {**bare, **self.symbols, **plain}, at)

    def expression(self, node: ast.expr) -> Any:
        try:
            return self.one_expression(node)
        except Problem as problem:
            raise self.source.error(str(problem), node) from None
        except ScriptError:
            raise
        except LegatoError as error:
            raise self.source.error(str(error), node) from error

    def one_expression(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.spread(node.elts))
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            left, right = self.expression(node.left), self.expression(node.right)
            if isinstance(left, ir.Value) or isinstance(right, ir.Value):
                return build(BINARY[type(node.op)], [left, right], {})
            return self.python(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARE:
            left, right = self.expression(node.left), self.expression(node.comparators[0])
            if isinstance(left, ir.Value) or isinstance(right, ir.Value):
                return build(COMPARE[type(node.ops[0])], [left, right], {})
            if isinstance(left, dims.Dim) or isinstance(right, dims.Dim):
                return self.compared(node, left, right)
            return self.python(node)
        if isinstance(node, ast.UnaryOp):
            x = self.expression(node.operand)
            if isinstance(node.op, ast.Not) and not isinstance(x, ir.Value):
                return self.combined("not", [x])
            if not isinstance(x, ir.Value):
                return self.python(node)
            if isinstance(node.op, ast.UAdd):
                return x
            return build({ast.USub: "negative", ast.Invert: "bitwise_not", ast.Not: "logical_not"}[type(node.op)], [x], {})
        if isinstance(node, ast.Subscript):
            return self.element(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.BoolOp):
            return self.combined("and" if isinstance(node.op, ast.And) else "or", [self.expression(v) for v in node.values])
        if isinstance(node, (ast.JoinedStr, ast.Dict)):
            return self.python(node)
        more = {"IfExp": ": an if statement, or R.where(cond, x, y)", "Lambda": ": define a function, under @R.function",
                "ListComp": ": make lists outside"}.get(type(node).__name__, "")
        raise Problem(f"Python's {type(node).__name__} is not supported in a graph{more}")

    def compared(self, node: ast.Compare, left: Any, right: Any) -> Any:
        """Two sizes compared."""
        raise NotImplementedError

    def combined(self, op: str, tests: list[Any]) -> Any:
        """``and``, ``or``, ``not``."""
        raise NotImplementedError

    def spread(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of expressions; ``*x`` is the elements of a tuple."""
        found: list[Any] = []
        for node in nodes:
            value = self.expression(node.value if isinstance(node, ast.Starred) else node)
            if isinstance(node, ast.Starred) and not isinstance(value, (tuple, list)):
                raise self.source.error("'*' takes the elements of a tuple", node)
            found += value if isinstance(node, ast.Starred) else [value]
        return found

    def element(self, node: ast.Subscript) -> Any:
        base = self.expression(node.value)
        if not isinstance(base, (tuple, list, dict, ShapeInfo)):
            raise Problem("elements can be taken of tuples; of tensors by R.take and R.strided_slice")
        at = self.python(node.slice)
        try:
            return (base.sizes if isinstance(base, ShapeInfo) else base)[at]
        except (TypeError, IndexError, KeyError) as error:
            count = f" of {len(base)}" if isinstance(base, (tuple, list)) else ""
            raise Problem(f"no element {at!r} of this tuple{count}: {error}") from None

    def name(self, node: ast.Name) -> Any:
        for table in (self.scope, self.symbols, self.source.names):
            if node.id in table:
                value = table[node.id]
                if isinstance(value, np.ndarray):
                    return self.constant(value, node.id)
                return value.dtype if isinstance(value, ScalarType) else value
        if node.id in self.program.members:
            return self.program.members[node.id]
        if self.program.class_name and node.id in (self.program.class_name, "cls"):
            return SimpleNamespace(**self.program.members)
        raise Problem(f"'{node.id}' is not defined")

    def attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name):
            found = self.program.member(node.value.id, node.attr, {**self.source.names, **self.scope})
            if found is not None:
                return found
        word = self.word(node)
        if word is not None:
            raise Problem(f"{word} is a word of the script, not a value")
        base = self.expression(node.value)
        if isinstance(base, ir.Value):
            base = described(base)
        if node.attr.startswith("__") or not hasattr(base, node.attr):
            raise Problem(f"there is no '{node.attr}' in {ast.unparse(node.value)}")
        return getattr(base, node.attr)

    def constant(self, array: Any, name: str = "constant") -> ir.Value:
        """A constant: in the text where it is small, else in the weight store."""
        array = np.asarray(array)
        if array.nbytes <= LARGE:
            return relax.constant(array)
        key = self.program.module.weights.add(name, np.ascontiguousarray(array))
        return relax.weight(key, array.dtype, array.shape)

    def call(self, node: ast.Call) -> Any:
        word = self.word(node)
        if word is None:
            return self.call_function(node)
        face, _, name = word.partition(".")
        special: dict[str, Callable[[ast.Call], Any]] = {
            "call_tir": lambda n: call_tir(self, n), "call_dps_packed": lambda n: call_dps_packed(self, n),
            "call_packed": lambda n: call_packed(self, n), "call_pure_packed": lambda n: call_packed(self, n, pure=True),
            "call_tir_inplace": lambda n: call_tir_inplace(self, n), "prim_value": self.only, "str": self.only,
            "match_cast": self.match_cast, "weight": self.weight, "shape": self.shape,
            "tuple": lambda n: tuple(self.spread(n.args)), "const": self.const, "TupleGetItem": self.tuple_item,
            "ExternFunc": self.only, "extern": self.only,
            "shape_of": lambda n: ShapeInfo(dims.dims(self.only(n, tensor=True).type)),
        }
        if face == "R" and name in special:
            return special[name](node)
        if face == "T":
            return self.python(node)
        if face != "R" or name in ("Tensor", "Shape", "Tuple"):
            return self.python(node)
        arguments = self.spread(node.args)
        keywords = {str(k.arg): self.expression(k.value) for k in node.keywords}
        made = build(name, arguments, keywords)
        for value in made if isinstance(made, tuple) else (made,):
            if isinstance(value, ir.Value):
                self.check_sizes(value)
        return self.constant(made, name) if isinstance(made, np.ndarray) else made

    def check_sizes(self, value: ir.Value) -> None:
        """Problem for a size whose value cannot be known: of no argument, and of nothing that a packed function returns."""
        there = {n for a in self.main.arguments for s in dims.dims(a.type) for n in dims.symbols(s)} | self.late | self.counted
        for size in dims.dims(value.type):
            if dims.symbols(size) - there:   # counted in the ops that this one is made of
                self.counted |= {op.attributes["size"].value for op in find(self.main.operation, "relax.nonzero")}
            if unknown := sorted(dims.symbols(size) - there - self.counted):
                raise Problem(f"the size '{unknown[0]}' is not known here: it is a size of no argument, and nothing is matched with it")

    def only(self, node: ast.Call, tensor: bool = False) -> Any:
        """The one argument of a call."""
        if len(node.args) != 1 or node.keywords:
            raise Problem(f"{self.word(node)} takes one argument")
        value = self.expression(node.args[0])
        if tensor and not isinstance(value, ir.Value):
            raise Problem(f"{self.word(node)} takes a tensor")
        return value

    def shape(self, node: ast.Call) -> ShapeInfo:
        """``R.shape([n, 4])``."""
        found = self.only(node)
        if isinstance(found, ShapeInfo):
            return found
        if not isinstance(found, (tuple, list)) or any(
                isinstance(s, bool) or not isinstance(s, (int, np.integer, dims.Dim)) for s in found):
            raise Problem("R.shape takes sizes, integers and expressions of them: R.shape([n * 2, 4])")
        return ShapeInfo(tuple(found))

    def tuple_item(self, node: ast.Call) -> Any:
        """``R.TupleGetItem(t, 1)``."""
        if len(node.args) != 2 or node.keywords:
            raise Problem("R.TupleGetItem takes a tuple and a number")
        return self.element(ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node))

    def weight(self, node: ast.Call) -> ir.Value:
        """``R.weight("key", (64, 3, 7, 7), "float32")``: a constant whose bytes are in the weight store."""
        if len(node.args) != 3 or node.keywords:
            raise Problem("R.weight takes a key, a shape and a type of elements")
        key, shape, dtype = (self.expression(a) for a in node.args)
        return relax.weight(key, dtype_of(dtype), ints(shape))

    def const(self, node: ast.Call) -> ir.Value:
        """``R.const(1.5, "float32")``, of a number, a list of numbers or a numpy array."""
        given = dict(zip(("value", "dtype"), node.args)) | {str(k.arg): k.value for k in node.keywords}
        if "value" not in given or set(given) - {"value", "dtype"} or len(node.args) > 2:
            raise Problem("R.const takes a value and a type of elements")
        value = self.expression(given["value"])
        dtype = dtype_of(self.expression(given["dtype"])) if "dtype" in given else None
        if isinstance(value, ir.Value):
            return value if dtype in (None, element(value)) else relax.astype(value, dtype)
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise Problem(f"R.const: {error}") from None
        if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
            raise Problem(f"R.const takes numbers, lists of numbers and numpy arrays, not {describe(value)}")
        narrow = {"float64": "float32", "int64": "int32"}  # what a Python number becomes
        default = array.dtype.name if isinstance(value, (np.ndarray, np.generic)) else narrow.get(array.dtype.name, array.dtype.name)
        try:
            with np.errstate(over="raise", invalid="raise"):
                return self.constant(array.astype(numpy_type(dtype or default)))
        except (FloatingPointError, OverflowError, ValueError) as error:
            raise Problem(f"R.const: {describe(value)} is no value of type {dtype or default}: {error}") from None

    def call_function(self, node: ast.Call) -> Any:
        """A call of what is no word of the script."""
        raise NotImplementedError


def names_in(tree: ast.AST) -> set[str]:
    """All that could be names of sizes in a function."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return names | {dims.symbol_name(t) for t in texts if t.isidentifier()}


def described(value: ir.Value) -> SimpleNamespace:
    """What can be said of a tensor when the graph is parsed: its ``shape``, ``dtype``, ``ndim``, and its type by TVM's names for it."""
    shape, dtype = dims.dims(value.type), dtype_name(value.type.element_type)
    info = TensorInfo(tuple(shape), dtype, len(shape))
    return SimpleNamespace(shape=shape, dtype=dtype, ndim=len(shape), struct_info=info, ty=info)

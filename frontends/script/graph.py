"""From the Python source of a graph to a relax function."""

import ast
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...dialects import relax
from ...dialects.errors import LegatoError
from ...dialects.relax import dims
from ...mlir import func, ir
from .faces import Face, OnlyInScript
from .functions import PrimFunc, RelaxFunc
from .graph_calls import call_packed, call_tir
from .graph_ops import build, build_binary
from .program import Program
from .source import Problem, ScriptError
from .types import DTYPES, ScalarType, ShapeInfo, TensorInfo, TupleInfo, dtype_name, relax_element, size_of

BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Pow: "power",
          ast.Mod: "mod"}
COMPARE = {ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal", ast.NotEq: "not_equal"}
LARGE = 1024  # bytes: larger constants go to the weight store


class Restart(Exception):
    """A ``match_cast`` has shown what a size is: the function is parsed again with it, so that the entry checks it."""


class GraphParser:
    """Parses one graph. ``known``: sizes that have turned out to be others."""

    def __init__(self, program: Program, function: RelaxFunc, known: Mapping[str, Any], inlined: tuple[RelaxFunc, ...] = ()):
        self.program, self.function, self.source = program, function, function.source
        self.known = dict(known)
        self.inlined = (*inlined, function)
        self.scope: dict[str, Any] = {}
        self.symbols: dict[str, Any] = {}
        self.main: func.FuncOp = None

    # --- the function ---

    def parse(self, name: str) -> func.FuncOp:
        """Adds the function to the program's module, under a name."""
        tree = self.source.tree
        infos = [self.info(a.annotation, a, a.arg) for a in tree.args.args]
        self.take_symbols(tree)
        with self.source.location(tree):
            types = [self.type_of(info, a, a.arg) for info, a in zip(infos, tree.args.args)]
            self.main = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private" if self.function.private else None,
                                    ip=ir.InsertionPoint.at_block_begin(self.program.module.body))
            try:
                block = self.main.add_entry_block()
                self.scope = {a.arg: v for a, v in zip(tree.args.args, block.arguments)}
                with ir.InsertionPoint(block):
                    result, node = self.body(tree.body)
                    results, names = self.returned(result, node, tree)
                    func.ReturnOp(results)
            except BaseException:
                self.main.operation.erase()
                raise
            self.main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [v.type for v in results]))
        named = [ir.ArrayAttr.get([ir.DictAttr.get({"relax.name": ir.StringAttr.get(n)}) for n in some])
                 for some in ([a.arg for a in tree.args.args], names)]
        self.main.attributes["arg_attrs"], self.main.attributes["res_attrs"] = named
        return self.main

    def take_symbols(self, tree: ast.FunctionDef) -> None:
        """Names of sizes that the statements introduce: ``n = T.int64()``."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Tuple)):
                targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
                calls = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                if len(targets) == len(calls) and all(self.names_size(c) for c in calls):
                    self.symbols |= {t.id: self.size(t.id) for t in targets}

    def names_size(self, node: ast.expr) -> bool:
        word = self.word(node) if isinstance(node, ast.Call) else None
        return word is not None and word.removeprefix("T.") in ("int32", "int64", "var", "size_var", "dyn") and (
            not node.args or word.endswith(("var", "dyn")))

    def size(self, value: Any) -> Any:
        """A size, where what has become known of its symbols is put in."""
        found = size_of(dims.symbol_name(value) if isinstance(value, str) and value.isidentifier() else value)
        return dims.substitute(found, self.known) if self.known and not isinstance(found, int) and found is not dims.UNKNOWN else found

    def info(self, annotation: ast.expr | None, at: ast.AST, name: str) -> Any:
        if annotation is None:
            raise self.source.error(f'the parameter has no type: {name}: R.Tensor((n, 128), "float32")', at)
        self.take_symbols_of_types(annotation)
        return self.python(annotation)

    def take_symbols_of_types(self, annotation: ast.expr) -> None:
        """Texts in an annotation's shape name sizes."""
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier() and node.value not in DTYPES:
                self.symbols.setdefault(node.value, self.size(node.value))

    def type_of(self, info: Any, at: ast.AST, name: str = "") -> ir.Type:
        if not isinstance(info, TensorInfo):
            raise self.source.error("a graph takes tensors: R.Tensor((n, 128), \"float32\"); sizes come with the tensors' shapes", at)
        if info.dtype is None:
            raise self.source.error("the type of the elements is missing: R.Tensor(shape, \"float32\")", at)
        shape = info.shape
        if shape is None:
            if info.ndim < 0:
                raise self.source.error("the rank has to be known: R.Tensor(shape, dtype) or R.Tensor(dtype, ndim=2)", at)
            shape = [f"{name or 'd'}_{axis}" for axis in range(info.ndim)]
        try:
            return dims.tensor_type([self.size(s) for s in shape], relax_element(dtype_name(info.dtype)))
        except (ValueError, LegatoError) as error:
            raise self.source.error(str(error), at) from None

    def body(self, statements: list[ast.stmt]) -> tuple[Any, ast.AST]:
        """The value that the statements return, and where."""
        for node in statements:
            if isinstance(node, ast.Return):
                return self.expression(node.value), node
            self.statement(node)
        raise self.source.error("a graph returns something", self.source.tree)

    def returned(self, result: Any, node: ast.Return, tree: ast.FunctionDef) -> tuple[list[ir.Value], list[str]]:
        values = list(result) if isinstance(result, (tuple, list)) else [result]
        for value in values:
            if not isinstance(value, ir.Value):
                raise self.source.error("a graph returns tensors; a shape is known to who has the tensors", node)
        nodes = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        names = [n.id if isinstance(n, ast.Name) and len(nodes) == len(values) else f"output_{i}" for i, n in
                 enumerate([*nodes, *[None] * (len(values) - len(nodes))])]
        names = [f"{n}_{i}" if n in names[:i] else n for i, n in enumerate(names)]
        if tree.returns is not None:
            self.check_return(tree.returns, values, node)
        return values, names

    def check_return(self, annotation: ast.expr, values: list[ir.Value], node: ast.AST) -> None:
        info = self.python(annotation)
        infos = info.fields if isinstance(info, TupleInfo) else (info,)
        if len(infos) != len(values):
            raise self.source.error(f"the function says that it returns {len(infos)} values; it returns {len(values)}", node)
        for one, value in zip(infos, values):
            if isinstance(one, TensorInfo) and one.dtype is not None and (one.shape is not None or one.ndim >= 0):
                said = self.type_of(one, node) if one.shape is not None else value.type
                if said.element_type != value.type.element_type or said.rank != value.type.rank:
                    raise self.source.error(f"the function says that it returns {said}; it returns {value.type}", node)
                self.unify(value, said, node)

    # --- statements ---

    def statement(self, node: ast.stmt) -> None:
        try:
            with self.location(node):
                self.one_statement(node)
        except Problem as problem:
            raise self.source.error(str(problem), node) from None

    def location(self, node: ast.stmt) -> ir.Location:
        place = self.source.location(node)
        name = node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
        return ir.Location.name(name, place) if name else place

    def one_statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            if isinstance(node.value, (ast.Call, ast.Tuple)) and all(
                    self.names_size(c) for c in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])):
                return
            self.assign(node.targets[0], self.expression(node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            value = self.expression(node.value)
            info = self.python(node.annotation)
            if isinstance(info, TensorInfo) and info.shape is not None and isinstance(value, ir.Value):
                value = self.match(value, info, node)
            self.scope[node.target.id] = value
        elif isinstance(node, ast.With):
            self.dataflow(node)
        elif isinstance(node, ast.Expr):
            self.bare(node)
        elif not isinstance(node, ast.Pass):
            raise Problem(f"Python's {type(node).__name__} is not supported in a graph")

    def bare(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        word = self.word(node.value)
        if word in ("R.func_attr", "R.output", "I.module_attrs"):
            return
        if word == "R.match_cast":
            self.expression(node.value)
            return
        raise Problem("a value that nobody takes: a graph's ops have no effects; assign it to a name")

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.scope[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, (tuple, list)) and len(target.elts) == len(value):
            for one, part in zip(target.elts, value):
                self.assign(one, part)
        else:
            raise Problem("a name, or as many names as there are values, can be assigned to")

    def dataflow(self, node: ast.With) -> None:
        """``with R.dataflow():`` names that its ``R.output`` does not list have no meaning behind it."""
        context = node.items[0].context_expr
        if self.word(context) not in ("R.dataflow", "dataflow"):
            raise self.source.error("'with' opens a dataflow block: with R.dataflow()", context)
        before, outputs = dict(self.scope), None
        for statement in node.body:
            if isinstance(statement, ast.Expr) and self.word(statement.value) in ("R.output", "output"):
                outputs = [a.id for a in statement.value.args if isinstance(a, ast.Name)]
                for name in outputs:
                    if name not in self.scope:
                        raise self.source.error(f"'{name}' is not defined", statement)
            else:
                self.statement(statement)
        if outputs is None:
            raise self.source.error("a dataflow block says what it gives: R.output(...)", node)
        self.scope = {**before, **{n: self.scope[n] for n in outputs}}

    # --- expressions ---

    def word(self, node: ast.AST) -> str | None:
        """``R.nn.relu`` for what an expression is, or calls, in the script's words."""
        if isinstance(node, ast.Call):
            node = node.func
        path = []
        while isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope:
            return None
        found = self.source.names.get(node.id)
        if isinstance(found, (Face, OnlyInScript)):
            return ".".join([found._name if isinstance(found, Face) else found.name, *reversed(path)])
        return None

    def python(self, node: ast.expr) -> Any:
        """What Python makes of an expression of captured names and sizes."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        try:
            plain = {k: v for k, v in self.scope.items() if not isinstance(v, ir.Value)}
            return eval(ast.unparse(node), {**self.source.names, **self.symbols, **plain})
        except (NameError, LegatoError, TypeError, ValueError, AttributeError) as error:
            raise self.source.error(str(error), node) from None

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
            return tuple(self.expression(e) for e in node.elts)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            left, right = self.expression(node.left), self.expression(node.right)
            if isinstance(left, ir.Value) or isinstance(right, ir.Value):
                return build_binary(BINARY[type(node.op)], left, right)
            return self.python(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARE:
            return build_binary(COMPARE[type(node.ops[0])], self.expression(node.left), self.expression(node.comparators[0]))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            x = self.expression(node.operand)
            return relax.negative(x) if isinstance(x, ir.Value) else -x
        if isinstance(node, ast.Subscript):
            base = self.expression(node.value)
            if isinstance(base, (tuple, list)):
                return base[self.expression(node.slice)]
            raise Problem("elements can be taken of tuples; of tensors by R.take and R.strided_slice")
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        raise Problem(f"Python's {type(node).__name__} is not supported in a graph")

    def name(self, node: ast.Name) -> Any:
        for table in (self.scope, self.symbols, self.source.names):
            if node.id in table:
                value = table[node.id]
                if isinstance(value, np.ndarray):
                    return self.constant(value, node.id)
                return value.dtype if isinstance(value, ScalarType) else value
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
        if isinstance(base, ir.Value) and node.attr in ("shape", "dtype"):
            return dims.dims(base.type) if node.attr == "shape" else dtype_name(base.type.element_type)
        if not hasattr(base, node.attr):
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
            "call_tir": lambda n: call_tir(self, n), "call_dps_packed": lambda n: call_packed(self, n),
            "match_cast": self.match_cast, "weight": self.weight, "shape": lambda n: ShapeInfo(tuple(self.expression(n.args[0]))),
            "tuple": lambda n: tuple(self.expression(a) for a in n.args), "const": self.const,
            "ExternFunc": lambda n: self.expression(n.args[0]), "extern": lambda n: self.expression(n.args[0]),
            "shape_of": lambda n: ShapeInfo(dims.dims(self.expression(n.args[0]).type)),
        }
        if face == "R" and name in special:
            return special[name](node)
        if face == "T":
            return self.python(node)
        if face != "R" or name in ("Tensor", "Shape", "Tuple"):
            return self.python(node)
        arguments = [self.expression(a) for a in node.args]
        keywords = {k.arg: self.expression(k.value) for k in node.keywords}
        return build(name, arguments, keywords)

    def weight(self, node: ast.Call) -> ir.Value:
        """``R.weight("key", (64, 3, 7, 7), "float32")``: a constant whose bytes are in the weight store."""
        key, shape, dtype = (self.expression(a) for a in node.args)
        return relax.weight(key, dtype, shape)

    def const(self, node: ast.Call) -> ir.Value:
        value = self.expression(node.args[0])
        dtype = self.expression(node.args[1]) if len(node.args) > 1 else next(
            (self.expression(k.value) for k in node.keywords if k.arg == "dtype"), None)
        if isinstance(value, ir.Value):
            return value
        array = np.asarray(value)
        narrow = {"float64": "float32", "int64": "int32"}  # what a Python number becomes
        default = array.dtype.name if isinstance(value, (np.ndarray, np.generic)) else narrow.get(array.dtype.name, array.dtype.name)
        return self.constant(array.astype(np.dtype(dtype or default)))

    def call_function(self, node: ast.Call) -> Any:
        """A call of another graph: its statements are put here."""
        callee = self.expression(node.func)
        if isinstance(callee, PrimFunc):
            raise Problem(f"a kernel is called by R.call_tir({callee.__name__}, (...), R.Tensor(...))")
        if not isinstance(callee, RelaxFunc):
            raise Problem("a graph calls words of the script (R.add, ...) and other graphs")
        if callee in self.inlined:
            raise Problem(f"'{callee.__name__}' calls itself: recursion is not supported")
        inner = GraphParser(self.program, callee, {}, self.inlined)
        inner.main = self.main
        tree = callee.source.tree
        arguments = [self.expression(a) for a in node.args]
        if len(arguments) != len(tree.args.args) or node.keywords:
            raise Problem(f"'{callee.__name__}' takes {len(tree.args.args)} arguments by position")
        inner.take_symbols(tree)
        for argument, value in zip(tree.args.args, arguments):
            info = inner.info(argument.annotation, argument, argument.arg)
            inner.bind_shape(info, value, argument)
            inner.scope[argument.arg] = value
        return inner.body(tree.body)[0]

    def bind_shape(self, info: Any, value: Any, at: ast.AST) -> None:
        """Gives the sizes' names in an argument's type what the value given has there."""
        if not isinstance(info, TensorInfo) or info.shape is None or not isinstance(value, ir.Value):
            return
        found = dims.dims(value.type)
        if len(found) != len(info.shape):
            raise self.source.error(f"the argument is {value.type}", at)
        for said, size in zip(info.shape, found):
            symbol = size_of(said)
            if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in self.known:
                self.known[str(symbol)] = size
                self.symbols = {n: (size if str(s) == str(symbol) else s) for n, s in self.symbols.items()}
            elif not dims.compatible(self.size(said), size):
                raise self.source.error(f"the argument is {value.type}, where {said} is {size}", at)

    # --- sizes that are checked ---

    def match_cast(self, node: ast.Call) -> Any:
        value, info = self.expression(node.args[0]), self.python(node.args[1])
        if isinstance(value, ShapeInfo) and isinstance(info, ShapeInfo):
            for a, b in zip(value.sizes, info.sizes, strict=True):
                self.same(self.size(a), self.size(b), node)
            return value
        return self.match(value, info, node)

    def match(self, value: ir.Value, info: Any, node: ast.AST) -> ir.Value:
        if not isinstance(value, ir.Value) or not isinstance(info, TensorInfo):
            raise self.source.error("a tensor and R.Tensor(shape, dtype), or a shape and R.Shape(...), can be matched", node)
        said = self.type_of(TensorInfo(info.shape, info.dtype or dtype_name(value.type.element_type), info.ndim), node)
        if said.rank != value.type.rank or said.element_type != value.type.element_type:
            raise self.source.error(f"the value is {value.type}, never {said}", node)
        self.unify(value, said, node)
        return value

    def unify(self, value: ir.Value, said: ir.Type, node: ast.AST) -> None:
        for a, b in zip(dims.dims(value.type), dims.dims(said)):
            self.same(a, b, node)

    def same(self, found: Any, said: Any, node: ast.AST) -> None:
        """Two sizes that are to be the same: what that says of a symbol becomes part of the function's type, which calls are checked by."""
        if found == said or found is dims.UNKNOWN:
            return
        if isinstance(found, int) and isinstance(said, int):
            raise self.source.error(f"the size is {found}, never {said}", node)
        given = self.given()
        for symbol, other in ((said, found), (found, said)):
            if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in dims.symbols(other):
                if str(symbol) in given and any(n not in given for n in dims.symbols(other)):
                    continue
                self.known = {k: dims.substitute(v, {str(symbol): other}) for k, v in self.known.items()} | {str(symbol): other}
                raise Restart
        for symbol in sorted({n for s in (said, found) for n in dims.symbols(s)}):
            solved = solve(found, said, symbol)
            if solved is not None:
                self.known[symbol] = solved
                raise Restart
        raise self.source.error(f"whether {found} is {said} cannot be checked when the function is called", node)

    def given(self) -> set[str]:
        """The symbols that the arguments' shapes have."""
        return {n for a in self.main.arguments for s in dims.dims(a.type) for n in dims.symbols(s)}


def solve(a: Any, b: Any, symbol: str) -> int | None:
    """The value of a symbol that makes two linear sizes equal, if it is one number."""
    at = [dims.substitute(a - b if not isinstance(a, int) else -(b - a), {symbol: v}) for v in (0, 1, 2)]
    if not all(isinstance(v, int) for v in at) or at[2] - at[1] != at[1] - at[0] or at[1] == at[0]:
        return None
    value, rest = divmod(-at[0], at[1] - at[0])
    return value if rest == 0 and value >= 1 else None


def parse_graph(program: Program, function: RelaxFunc, name: str) -> func.FuncOp:
    """Adds a graph to the program's module. ScriptError for what is wrong, at its line."""
    known: dict[str, Any] = {}
    while True:
        parser = GraphParser(program, function, known)
        try:
            return parser.parse(name)
        except Restart:
            known = parser.known

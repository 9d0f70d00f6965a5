"""From the Python source of a graph to a relax function."""

import ast
from typing import Any

from legato.core.errors import LegatoError
from legato.core.mlir import func, ir
from legato.dialects.relax import dims
from legato.dialects.relax.markers import NAME, PACKED, REQUIRES
from legato.frontends.script.graph.branches import GraphBranches
from legato.frontends.script.graph.sizes import Restart
from legato.frontends.script.language.functions import RelaxFunc
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import DTYPES, NAMES_OF_SIZES, TensorInfo, TupleInfo, dtype_name, relax_element
from legato.frontends.script.program import Program

WAY_OUT = {
    "For": ": a graph has no loops; write the steps out, make the graph by a function of Python, or loop in a kernel",
    "While": ": a graph has no loops; loop in a kernel, or call the compiled graph from one", "AugAssign": ": write x = x + y",
    "Assert": ": sizes are checked by R.match_cast", "Try": "", "Import": ": import outside", "ClassDef": ": define it outside",
}


class GraphParser(GraphBranches):
    """Parses one graph."""

    # --- the function ---

    def parse(self, name: str) -> func.FuncOp:
        """Adds the function to the program's module, under a name."""
        tree = self.source.tree
        infos = [self.info(a.annotation, a, a.arg) for a in tree.args.args]
        self.take_symbols(tree)
        with self.source.location(tree):
            types = [self.type_of(info, a, a.arg) for info, a in zip(infos, tree.args.args)]
            there = {f.name.value for f in self.program.module.functions()}
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
                for op in [op for op in self.program.module.functions() if op.name.value not in there and PACKED in op.attributes]:
                    op.operation.erase()
                raise
            self.main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [v.type for v in results]))
        named = [ir.ArrayAttr.get([ir.DictAttr.get({NAME: ir.StringAttr.get(n)}) for n in some])
                 for some in ([a.arg for a in tree.args.args], names)]
        self.main.attributes["arg_attrs"], self.main.attributes["res_attrs"] = named
        if self.required:
            rows = [[ir.StringAttr.get(t) for t in (found, text, said)] for (found, said), text in self.required.items()]
            self.main.attributes[REQUIRES] = ir.ArrayAttr.get([ir.ArrayAttr.get(row) for row in rows])
        return self.main

    def take_symbols(self, tree: ast.FunctionDef) -> None:
        """Names of sizes that the statements introduce: ``n = T.int64()``."""
        self.symbols |= {name: self.size(name) for name in self.named_sizes(tree)}

    def named_sizes(self, tree: ast.FunctionDef) -> list[str]:
        """The names that statements give to sizes."""
        found = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Tuple)):
                targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
                calls = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                if len(targets) == len(calls) and all(self.names_size(c) for c in calls):
                    found += [t.id for t in targets if isinstance(t, ast.Name)]
        return found

    def names_size(self, node: ast.expr) -> bool:
        word = self.word(node) if isinstance(node, ast.Call) else None
        name = (word or "").removeprefix("T.")
        return isinstance(node, ast.Call) and (name in NAMES_OF_SIZES or (name in ("int32", "int64") and not node.args))

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
            what = "each of a tuple's tensors is a parameter of its own" if isinstance(info, TupleInfo) else (
                "sizes come with the tensors' shapes, and are named in them")
            raise self.source.error(f"a graph takes tensors: R.Tensor((n, 128), \"float32\"); {what}", at)
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
        elif isinstance(node, ast.FunctionDef):
            self.define(node)
        elif isinstance(node, ast.If):
            self.branch(node)
        elif not isinstance(node, ast.Pass):
            raise Problem(f"Python's {type(node).__name__} is not supported in a graph{WAY_OUT.get(type(node).__name__, '')}")

    def bare(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        word = self.word(node.value)
        if word in ("R.func_attr", "R.output", "I.module_attrs"):
            return
        if word in ("R.match_cast", "R.call_packed"):   # which check, and have effects
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


def parse_graph(program: Program, function: RelaxFunc, name: str) -> func.FuncOp:
    """Adds a graph to the program's module. ScriptError for what is wrong, at its line."""
    known: dict[str, Any] = {}
    while True:
        parser = GraphParser(program, function, known)
        try:
            return parser.parse(name)
        except Restart:
            if parser.known == known:
                raise function.source.error("the sizes cannot be found out: one is said to be several", function.source.tree) from None
            known = parser.known

"""Functions that a graph's script calls: other graphs, functions defined inside, and Python's on what is known when it is parsed."""

import ast
import copy
from typing import Any

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.expressions import GraphExpressions
from legato.frontends.script.graph.ops import build
from legato.frontends.script.language.functions import PrimFunc, RelaxFunc
from legato.frontends.script.language.source import Problem, Source
from legato.frontends.script.language.types import ShapeInfo, TensorInfo, size_of

MOST = 1 << 16  # numbers that Python makes for a graph


class LocalFunction:
    """``@R.function`` inside of a graph: its statements, and what its free names stand for where it is defined."""

    def __init__(self, tree: ast.FunctionDef, source: Source, scope: dict[str, Any], symbols: dict[str, Any]):
        self.__name__ = tree.name
        self.source = copy.copy(source)
        self.source.tree = tree
        self.scope, self.symbols = dict(scope), dict(symbols)


class GraphFunctions(GraphExpressions):
    """Puts the statements of called functions in the places of the calls."""

    def define(self, node: ast.FunctionDef) -> None:
        """A function defined inside: it is there to be called, or returned to who calls it."""
        words = [self.word(d) for d in node.decorator_list]
        if words not in (["R.function"], ["R.func"]):
            raise Problem("a function inside of a graph is one itself, under @R.function; kernels stand outside, or in the class")
        self.scope[node.name] = LocalFunction(node, self.source, self.scope, self.symbols)

    def call_function(self, node: ast.Call) -> Any:
        """A call of another graph, of ``x.astype``, or of a Python function that is given no tensors."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            base = self.expression(node.func.value)
            if isinstance(base, ir.Value):
                return build("astype", [base, *self.spread(node.args)], {str(k.arg): self.expression(k.value) for k in node.keywords})
        callee = self.expression(node.func)
        if isinstance(callee, PrimFunc):
            raise Problem(f"a kernel is called by R.call_tir({callee.__name__}, (...), R.Tensor(...))")
        if not isinstance(callee, (RelaxFunc, LocalFunction)):
            return self.call_python(callee, node)
        if callee in self.inlined:
            raise Problem(f"'{callee.__name__}' calls itself: recursion is not supported")
        tree = callee.source.tree
        names = [a.arg for a in tree.args.args]
        given = dict(zip(names, arguments := self.spread(node.args))) | {str(k.arg): self.expression(k.value) for k in node.keywords}
        if len(arguments) + len(node.keywords) != len(names) or set(given) != set(names):
            raise Problem(f"'{callee.__name__}' takes {', '.join(names) or 'nothing'}; {len(arguments) + len(node.keywords)} are given")
        inner = type(self)(self.program, callee, {}, self.inlined, self)
        inner.main = self.main
        if isinstance(callee, LocalFunction):
            inner.scope = dict(callee.scope)
        inner.symbols = {name: dims.symbol(name) for name in inner.named_sizes(tree)}
        infos = [inner.info(a.annotation, a, a.arg) for a in tree.args.args]
        inner.renames = True
        for argument, info in zip(tree.args.args, infos):
            inner.bind_shape(info, given[argument.arg], argument)
            inner.scope[argument.arg] = given[argument.arg]
        inner.symbols = {name: inner.size(name) for name in inner.symbols}
        if isinstance(callee, LocalFunction):
            inner.symbols = callee.symbols | inner.symbols
        return inner.body(tree.body)[0]

    def call_python(self, callee: Any, node: ast.Call) -> Any:
        """``float(n)``, ``range(3)``: what Python makes of numbers, texts and shapes when the graph is parsed."""
        if not callable(callee) or any(isinstance(a, ir.Value) for a in self.spread(node.args)):
            raise Problem("a graph calls words of the script (R.add, ...) and other graphs; Python's functions on numbers and shapes only")
        made = self.python(node)
        if isinstance(made, range) and len(made) > MOST:
            raise Problem(f"{len(made)} numbers, where {MOST} can be")
        return tuple(made) if isinstance(made, (list, range)) else made

    def bind_shape(self, info: Any, value: Any, at: ast.AST) -> None:
        """Gives the sizes' names in an argument's type what the value given has there."""
        if isinstance(info, ShapeInfo) and isinstance(value, ShapeInfo):
            self.bind_sizes(info.sizes, value.sizes, at)
        if not isinstance(info, TensorInfo) or info.shape is None or not isinstance(value, ir.Value):
            return
        self.bind_sizes(info.shape, dims.dims(value.type), at)

    def bind_sizes(self, names: Any, found: Any, at: ast.AST) -> None:
        if names is None:
            return
        if len(found) != len(names):
            raise self.source.error(f"the argument has {len(found)} sizes, and {len(names)} are said", at)
        for said, size in zip(names, found):
            symbol = size_of(said)
            if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in self.own_symbols:
                self.own_symbols[str(symbol)] = size
            elif not dims.compatible(self.size(said if isinstance(said, int) else str(symbol)), size):
                raise self.source.error(f"the argument has a size of {size}, where {said} is said", at)

"""Functions that a graph calls: other graphs and local functions, which are inlined, and Python functions."""

import ast
import copy
from typing import Any

from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.ops import build
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.graph.sizes import names_of_sizes, parameter_infos, size
from legato.frontends.script.language.evaluate import spread
from legato.frontends.script.language.functions import is_graph, is_kernel
from legato.frontends.script.language.source import Misuse, Source
from legato.frontends.script.language.types import ShapeInfo, TensorInfo, size_of

MOST = 1 << 16  # elements of a range


class LocalFunction:
    """``@R.function`` inside of a graph: its syntax, and the values of its free names where it is defined."""

    def __init__(self, tree: ast.FunctionDef, source: Source, scope: dict[str, Any], symbols: dict[str, Any]):
        self.__name__ = tree.name
        self.source = copy.copy(source)
        self.source.tree = tree
        self.scope, self.symbols = dict(scope), dict(symbols)


def define(parser: GraphParser, node: ast.FunctionDef) -> None:
    """A function defined in a graph, as a value to call or return."""
    words = [parser.word(d) for d in node.decorator_list]
    if words not in (["R.function"], ["R.func"]):
        raise Misuse("a function inside of a graph is one itself, under @R.function; kernels stand outside, or in the class")
    parser.scope[node.name] = LocalFunction(node, parser.source, parser.scope, parser.symbols)


def call_function(parser: GraphParser, node: ast.Call) -> Any:
    """A call of anything but a word of ``R``: a graph, ``x.astype``, or a Python function of values known at parse time."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        base = parser.expression(node.func.value)
        if isinstance(base, ir.Value):
            return build("astype", [base, *spread(parser, node.args)], keywords_of(parser, node))
    callee = parser.expression(node.func)
    if is_kernel(callee):
        raise Misuse(f"a kernel is called by R.call_tir({callee.__name__}, (...), R.Tensor(...))")
    if is_graph(callee) or isinstance(callee, LocalFunction):
        return inlined(parser, callee, node)
    return call_python(parser, callee, node)


def keywords_of(parser: GraphParser, node: ast.Call) -> dict[str, Any]:
    """The values of a call's arguments by name."""
    return {str(k.arg): parser.expression(k.value) for k in node.keywords}


def inlined(parser: GraphParser, callee: Any, node: ast.Call) -> Any:
    """Builds a graph's statements here. Returns their result. Its size names are bound to the arguments' sizes."""
    if callee in parser.inlined:
        raise Misuse(f"'{callee.__name__}' calls itself: recursion is not supported")
    parser.copies.add(f"this call of '{callee.__name__}'")
    tree = callee.source.tree
    names = [a.arg for a in tree.args.args]
    arguments = spread(parser, node.args)
    given = dict(zip(names, arguments)) | keywords_of(parser, node)
    if len(arguments) + len(node.keywords) != len(names) or set(given) != set(names):
        raise Misuse(f"'{callee.__name__}' takes {', '.join(names) or 'nothing'}; {len(arguments) + len(node.keywords)} are given")
    inner = parser.inner(callee)
    if isinstance(callee, LocalFunction):
        inner.scope = dict(callee.scope)
    inner.symbols = {name: dims.symbol(name) for name in names_of_sizes(inner, tree)}
    infos = parameter_infos(inner, tree)
    inner.renames = True
    for argument, info in zip(tree.args.args, infos):
        bind_shape(inner, info, given[argument.arg], argument)
        inner.scope[argument.arg] = given[argument.arg]
    inner.symbols = {name: size(inner, name) for name in inner.symbols}
    if isinstance(callee, LocalFunction):
        inner.symbols = callee.symbols | inner.symbols
    return inner.body(tree.body)[0]


def call_python(parser: GraphParser, callee: Any, node: ast.Call) -> Any:
    """``float(n)``, ``range(3)``: evaluated in Python; tensors are not allowed."""
    if not callable(callee) or any(isinstance(a, ir.Value) for a in spread(parser, node.args)):
        raise Misuse("a graph calls words of the script (R.add, ...) and other graphs; Python's functions on numbers and shapes only")
    made = parser.python(node)
    if isinstance(made, range) and len(made) > MOST:
        raise Misuse(f"{len(made)} numbers, where {MOST} can be")
    return tuple(made) if isinstance(made, (list, range)) else made


def bind_shape(parser: GraphParser, info: Any, value: Any, at: ast.AST) -> None:
    """Binds the size names in a parameter's type to the argument's sizes. ScriptError where the type does not fit."""
    if isinstance(info, ShapeInfo) and isinstance(value, ShapeInfo):
        bind_sizes(parser, info.sizes, value.sizes, at)
    elif isinstance(info, TensorInfo) and info.shape is not None and isinstance(value, ir.Value):
        bind_sizes(parser, info.shape, dims.dims(value.type), at)


def bind_sizes(parser: GraphParser, names: Any, found: Any, at: ast.AST) -> None:
    """Binds the size names ``names`` in order. ScriptError where a stated size differs."""
    if names is None:
        return
    if len(found) != len(names):
        raise parser.error(f"the argument has {len(found)} sizes, and {len(names)} are said", at)
    for said, actual in zip(names, found):
        symbol = size_of(said)
        if isinstance(symbol, dims.Dim) and symbol.is_symbol and str(symbol) not in parser.own_symbols:
            parser.own_symbols[str(symbol)] = actual
        elif not dims.compatible(size(parser, said if isinstance(said, int) else str(symbol)), actual):
            raise parser.error(f"the argument has a size of {actual}, where {said} is said", at)

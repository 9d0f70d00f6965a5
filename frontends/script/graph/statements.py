"""The statements of a graph, by the class of their syntax node."""

import ast
from typing import Any

from legato.core.mlir import ir
from legato.frontends.script.graph.branches import branch
from legato.frontends.script.graph.functions import define
from legato.frontends.script.graph.matching import match
from legato.frontends.script.graph.parser import GraphParser, unsupported
from legato.frontends.script.graph.sizes import is_size
from legato.frontends.script.language.marks import report_graph_marks
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import TensorInfo

HINTS = ("R.func_attr", "R.output", "I.module_attrs")  # calls that change no value
EFFECTS = ("R.match_cast", "R.call_packed")  # calls that check something, or have an effect


def assign_statement(parser: GraphParser, node: ast.Assign) -> None:
    """``x = ...``, ``x, y = ...``; ``n = T.int64()`` defines a size name, which is handled at the function's start."""
    if len(node.targets) != 1:
        unsupported(parser, node)
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    if isinstance(node.value, (ast.Call, ast.Tuple)) and all(is_size(parser, v) for v in values):
        return
    assign(parser, node.targets[0], parser.expression(node.value))


def assign(parser: GraphParser, target: ast.expr, value: Any) -> None:
    """Assigns a value to a name, or to several. Misuse for any other target."""
    if isinstance(target, ast.Name):
        parser.scope[target.id] = value
    elif isinstance(target, ast.Tuple) and isinstance(value, (tuple, list)) and len(target.elts) == len(value):
        for one, part in zip(target.elts, value):
            assign(parser, one, part)
    else:
        raise Misuse("a name, or as many names as there are values, can be assigned to")


def assign_annotated(parser: GraphParser, node: ast.AnnAssign) -> None:
    """``y: R.Tensor((n, 4), "float32") = ...``: the value with that type."""
    if node.value is None or not isinstance(node.target, ast.Name):
        unsupported(parser, node)
    value = parser.expression(node.value)
    info = parser.python(node.annotation)
    if isinstance(info, TensorInfo) and info.shape is not None and isinstance(value, ir.Value):
        value = match(parser, value, info, node)
    parser.scope[node.target.id] = value


def expression_statement(parser: GraphParser, node: ast.Expr) -> None:
    """An expression that stands alone: a docstring, a hint, or a call with an effect."""
    if isinstance(node.value, ast.Constant):
        return
    word = parser.word(node.value)
    if word in HINTS:
        if word == "R.func_attr" and isinstance(node.value, ast.Call):
            report_graph_marks(parser.source, node.value)
        return
    if word not in EFFECTS:
        raise Misuse("a value that nobody takes: a graph's ops have no effects; assign it to a name")
    parser.expression(node.value)


def dataflow(parser: GraphParser, node: ast.With) -> None:
    """``with R.dataflow():``; after it, only the names in its ``R.output`` are visible."""
    context = node.items[0].context_expr
    if parser.word(context) not in ("R.dataflow", "dataflow"):
        raise parser.error("'with' opens a dataflow block: with R.dataflow()", context)
    before, outputs = dict(parser.scope), None
    for statement in node.body:
        if isinstance(statement, ast.Expr) and parser.word(statement.value) in ("R.output", "output"):
            outputs = [a.id for a in statement.value.args if isinstance(a, ast.Name)]
            for name in outputs:
                if name not in parser.scope:
                    raise parser.error(f"'{name}' is not defined", statement)
        else:
            parser.statement(statement)
    if outputs is None:
        raise parser.error("a dataflow block says what it gives: R.output(...)", node)
    parser.scope = {**before, **{n: parser.scope[n] for n in outputs}}


def pass_(parser: GraphParser, node: ast.Pass) -> None:
    """``pass``."""


STATEMENTS = {
    ast.Assign: assign_statement, ast.AnnAssign: assign_annotated, ast.Expr: expression_statement, ast.With: dataflow,
    ast.FunctionDef: define, ast.If: branch, ast.Pass: pass_,
}

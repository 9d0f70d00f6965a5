"""From the source of a graph to a relax function."""

import ast
from typing import Any

from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.dialects.relax.markers import NAME, PACKED, REQUIRES
from legato.frontends.script.graph.expressions import EXPRESSIONS
from legato.frontends.script.graph.matching import Restart, unify
from legato.frontends.script.graph.parser import GraphParser, GraphTables, facts_at_start
from legato.frontends.script.graph.sizes import names_of_sizes, parameter_infos, size, type_of
from legato.frontends.script.graph.statements import STATEMENTS
from legato.frontends.script.language.functions import Function
from legato.frontends.script.language.types import TensorInfo, TupleInfo
from legato.frontends.script.program import Program

TABLES = GraphTables(EXPRESSIONS, STATEMENTS)


def parse_graph(program: Program, function: Function, name: str) -> func.FuncOp:
    """Adds a graph to the program's module as the function ``name``. ScriptError, at its line, for what is wrong in it."""
    known: dict[str, Any] = {}
    while True:
        parser = GraphParser(program, function.source, TABLES, facts_at_start(function, known), (function,))
        try:
            with program.context, ir.Location.unknown():
                return build(parser, name, function.private)
        except Restart:
            if parser.facts.known == known:
                raise parser.error("the sizes cannot be found out: one is said to be several", present(function.source).tree) from None
            known = parser.facts.known


def build(parser: GraphParser, name: str, private: bool) -> func.FuncOp:
    """The function of a parser's source. What was built is erased again where it raises."""
    tree, module = parser.source.tree, parser.program.module
    infos = parameter_infos(parser, tree)
    parser.symbols |= {n: size(parser, n) for n in names_of_sizes(parser, tree)}
    with parser.source.location(tree):
        types = [type_of(parser, info, a, a.arg) for info, a in zip(infos, tree.args.args)]
        there = {f.name.value for f in module.functions()}
        main = parser.main = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private" if private else None,
                                         ip=ir.InsertionPoint.at_block_begin(module.body))
        try:
            block = main.add_entry_block()
            parser.scope = {a.arg: v for a, v in zip(tree.args.args, block.arguments)}
            with ir.InsertionPoint(block):
                results, names = returned(parser, *parser.body(tree.body))
                func.ReturnOp(results)
        except BaseException:
            main.operation.erase()
            for op in [op for op in module.functions() if op.name.value not in there and PACKED in op.attributes]:
                op.operation.erase()
            raise
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [v.type for v in results]))
    main.attributes["arg_attrs"], main.attributes["res_attrs"] = named([a.arg for a in tree.args.args]), named(names)
    if parser.facts.required:
        rows = [[ir.StringAttr.get(t) for t in (found, text, said)] for (found, said), text in parser.facts.required.items()]
        main.attributes[REQUIRES] = ir.ArrayAttr.get([ir.ArrayAttr.get(row) for row in rows])
    return main


def named(names: list[str]) -> ir.ArrayAttr:
    """The attributes of arguments, or results, that have these names."""
    return ir.ArrayAttr.get([ir.DictAttr.get({NAME: ir.StringAttr.get(n)}) for n in names])


def returned(parser: GraphParser, result: Any, node: ast.Return) -> tuple[list[ir.Value], list[str]]:
    """The results of a graph and their names: those of variables, else ``output_0``, ... ScriptError for what is no tensor."""
    values = list(result) if isinstance(result, (tuple, list)) else [result]
    for value in values:
        if not isinstance(value, ir.Value):
            raise parser.error(f"a graph returns a tensor, or a tuple of tensors, not {ast.unparse(present(node.value))}", node)
    nodes = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    names = [n.id if isinstance(n, ast.Name) and len(nodes) == len(values) else f"output_{i}" for i, n in
             enumerate([*nodes, *[None] * (len(values) - len(nodes))])]
    names = [f"{n}_{i}" if n in names[:i] else n for i, n in enumerate(names)]
    if parser.source.tree.returns is not None:
        check_results(parser, parser.source.tree.returns, values, node)
    return values, names


def check_results(parser: GraphParser, annotation: ast.expr, values: list[ir.Value], node: ast.AST) -> None:
    """ScriptError where the results are not of the annotated types."""
    info = parser.python(annotation)
    infos = info.fields if isinstance(info, TupleInfo) else (info,)
    if len(infos) != len(values):
        raise parser.error(f"the function says that it returns {len(infos)} values; it returns {len(values)}", node)
    for one, value in zip(infos, values):
        if isinstance(one, TensorInfo) and one.dtype is not None and (one.shape is not None or one.ndim >= 0):
            said = type_of(parser, one, node) if one.shape is not None else value.type
            if said.element_type != value.type.element_type or said.rank != value.type.rank:
                raise parser.error(f"the function says that it returns {said}; it returns {value.type}", node)
            unify(parser, value, said, node)

"""Sizes and types in a graph's script: names of sizes, and the MLIR types of annotations."""

import ast
from collections.abc import Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.relax import dims
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import DTYPES, TensorInfo, TupleInfo, dtype_name, not_negative, relax_element, size_of
from legato.frontends.script.language.words import makes_size


def size(parser: GraphParser, value: Any) -> Any:
    """A size with known symbols substituted. Texts and symbols of ``T.int64()`` are size names of this function."""
    found = size_of(dims.symbol_name(value) if isinstance(value, str) and value.isidentifier() else value)
    if isinstance(found, int) or found is dims.UNKNOWN:
        return found
    if not isinstance(value, dims.Dim):
        found = dims.substitute(found, {name: parser.own_symbol(name) for name in dims.symbols(found)})
    return dims.substitute(found, parser.facts.known) if parser.facts.known else found


def is_size(parser: GraphParser, node: ast.expr) -> bool:
    """Whether an expression makes a size symbol: ``T.int64()``."""
    return makes_size((parser.word(node) or "").removeprefix("T."), node)


def names_of_sizes(parser: GraphParser, tree: ast.FunctionDef) -> list[str]:
    """The size names that statements define: ``n = T.int64()``."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Tuple)):
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
            calls = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if len(targets) == len(calls) and all(is_size(parser, c) for c in calls):
                found += [t.id for t in targets if isinstance(t, ast.Name)]
    return found


def parameter_infos(parser: GraphParser, tree: ast.FunctionDef) -> list[Any]:
    """The annotations of a graph's parameters. ScriptError for parameters with a default, by keyword only, and of any number."""
    given = tree.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise parser.error("a graph has plain parameters: no defaults, and none of /, * and **", tree)
    return [parameter_info(parser, a) for a in given.args]


def parameter_info(parser: GraphParser, argument: ast.arg) -> Any:
    """The annotation of a parameter; the texts in it become names of sizes. ScriptError where there is none."""
    annotation = argument.annotation
    if annotation is None:
        raise parser.error(f'the parameter has no type: {argument.arg}: R.Tensor((n, 128), "float32")', argument)
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier() and node.value not in DTYPES:
            parser.symbols.setdefault(node.value, size(parser, node.value))
    return parser.python(annotation)


def type_of(parser: GraphParser, info: Any, at: ast.AST, name: str = "") -> ir.Type:
    """The tensor type of an ``R.Tensor``. ScriptError, at ``at``, for anything else. Sizes that are not given are called after ``name``."""
    if not isinstance(info, TensorInfo):
        what = "each of a tuple's tensors is a parameter of its own" if isinstance(info, TupleInfo) else (
            "sizes come with the tensors' shapes, and are named in them")
        raise parser.error(f"a graph takes tensors: R.Tensor((n, 128), \"float32\"); {what}", at)
    if info.dtype is None:
        raise parser.error("the type of the elements is missing: R.Tensor(shape, \"float32\")", at)
    shape = info.shape
    if shape is None:
        if info.ndim < 0:
            raise parser.error("the rank has to be known: R.Tensor(shape, dtype) or R.Tensor(dtype, ndim=2)", at)
        shape = [f"{name or 'd'}_{axis}" for axis in range(info.ndim)]
    try:
        return dims.tensor_type(not_negative([size(parser, s) for s in shape]), relax_element(dtype_name(info.dtype)))
    except (ValueError, LegatoError) as error:
        raise parser.error(str(error), at) from None


def packed_types(parser: GraphParser, callee: str, infos: Sequence[Any], node: ast.AST) -> list[ir.Type]:
    """The types of a packed function's results. Sizes that are not given get symbols; new symbols get their values with the results."""
    types = []
    parser.packed_count += 1
    for number, info in enumerate(infos):
        if not isinstance(info, TensorInfo):
            raise parser.error("what comes back is R.Tensor(...), or R.Tuple of them", node)
        if info.shape is None and info.ndim >= 0:
            names = [f"{dims.symbol_name(callee)}_{parser.packed_count}_{number}_{axis}" for axis in range(info.ndim)]
            parser.unnamed |= set(names)
            info = TensorInfo(tuple(names), info.dtype, info.ndim)
        types.append(type_of(parser, info, node))
    parser.facts.late |= {name for t in types for size in dims.dims(t) for name in dims.symbols(size)} - parser.given()
    return types


def check_sizes(parser: GraphParser, value: ir.Value) -> None:
    """Misuse for a size of a tensor whose value is given by no argument, packed function's result or counting op."""
    facts = parser.facts
    there = parser.given() | facts.late | facts.counted
    for one in dims.dims(value.type):
        if dims.symbols(one) - there:  # perhaps counted by an op that this one is made of
            facts.counted |= {op.attributes["size"].value for op in find(parser.main.operation, "relax.nonzero")}
        if unknown := sorted(dims.symbols(one) - there - facts.counted):
            raise Misuse(f"the size '{unknown[0]}' is not known here: it is a size of no argument, and nothing is matched with it")

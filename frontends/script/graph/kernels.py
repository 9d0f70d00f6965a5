"""Calls of kernels in a graph's script: ``R.call_tir`` and ``R.call_tir_inplace``."""

import ast
from collections.abc import Mapping
from typing import Any

from legato.core.mlir import ir
from legato.dialects.tir.markers import INPLACE
from legato.frontends.script.graph.arguments import RESULT_TYPES, CallArguments, call_arguments, one_or_tuple
from legato.frontends.script.graph.calls import call
from legato.frontends.script.graph.packed import call_dps_packed
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.language.functions import is_kernel
from legato.frontends.script.language.source import Misuse

HOW = "R.call_tir_inplace(cls.kernel, (x, y), inplace_indices=[0, -1], out_sinfo=[R.Tensor(...), R.Tensor(...)])"


def call_tir(parser: GraphParser, node: ast.Call) -> Any:
    """``R.call_tir(cls.kernel, (x, y), out_sinfo=R.Tensor((n,), "float32"))``; with a text as callee, as in early TVM, a packed
    function."""
    given = call_arguments(parser, node)
    if isinstance(given.callee, str):
        return call_dps_packed(parser, node)
    if not is_kernel(given.callee):
        raise parser.error("R.call_tir calls a kernel, a function under @T.prim_func", node)
    return called(parser, given, given.operands)


def called(parser: GraphParser, given: CallArguments, operands: list[ir.Value], starts: Mapping[int, ir.Value] | None = None) -> Any:
    """The value of a call of a kernel. ``starts``: what outputs hold before it, by their numbers."""
    integers = None if given.integers is None else given.integers.sizes
    return one_or_tuple(call(parser.program, given.callee, operands, given.outputs, parser.main, integers, starts), given.several)


def call_tir_inplace(parser: GraphParser, node: ast.Call) -> Any:
    """``R.call_tir_inplace``: the results are new contents of arguments; other users of these keep the old ones.

    ``inplace_indices``: for each output, the argument that it updates, or -1 for a separate output.
    """
    names = ("callee", "args", "inplace_indices", "out_sinfo", "tir_vars")
    keywords = dict(zip(names, node.args)) | {str(k.arg): k.value for k in node.keywords}
    indices = keywords.pop("inplace_indices", None)
    if indices is None:
        raise Misuse(f"says which outputs are new contents of arguments: {HOW}")
    found = parser.expression(indices)
    found = list(found) if isinstance(found, tuple) else [found]
    given = call_arguments(parser, ast.copy_location(ast.Call(node.func, [], [ast.keyword(n, v) for n, v in keywords.items()]), node))
    operands, outputs = given.operands, given.outputs
    types = next(keywords[n] for n in RESULT_TYPES if n in keywords)
    if not is_kernel(given.callee):
        raise parser.error("R.call_tir_inplace calls a kernel, a function under @T.prim_func", node)
    if len(found) != len(outputs) or not all(isinstance(i, int) and -1 <= i < len(operands) for i in found):
        raise parser.error(f"inplace_indices has, for each of {len(outputs)} outputs, an argument's number or -1", indices)
    for index, type_ in zip(found, outputs):
        if index >= 0 and operands[index].type != type_:
            raise parser.error(f"the output is {type_}, and argument {index}, whose new content it is, {operands[index].type}", types)
    kernel = parser.program.signature(given.callee)
    places = list(kernel.attributes[INPLACE]) if INPLACE in kernel.attributes else [-1] * len(outputs)
    starts: dict[int, ir.Value] = {}
    if len(places) == len(found):
        # an argument that the kernel writes before it reads it is only an output, which starts from its content
        starts = {n: operands[index] for n, (index, place) in enumerate(zip(found, places)) if index >= 0 and place < 0}
        unread = {index for index, place in zip(found, places) if index >= 0 and place < 0}
        kept = [n for n in range(len(operands)) if n not in unread]
        operands = [operands[n] for n in kept]
        if any(place >= 0 and (index < 0 or kept[place] != index) for index, place in zip(found, places)):
            raise parser.error(f"'{given.callee.__name__}' changes its arguments {[p for p in places if p >= 0]} in place; "
                               f"inplace_indices says {found}", indices)
    return called(parser, given, operands, starts)

"""``R.call_tir_inplace``: kernels whose outputs are new contents of their arguments."""

import ast
from typing import TYPE_CHECKING, Any

from legato.dialects.tir.markers import INPLACE
from legato.frontends.script.graph.calls import RESULT_TYPES, call, call_arguments
from legato.frontends.script.language.functions import PrimFunc
from legato.frontends.script.language.source import Problem

if TYPE_CHECKING:
    from legato.frontends.script.graph.parse import GraphParser

HOW = "R.call_tir_inplace(cls.kernel, (x, y), inplace_indices=[0, -1], out_sinfo=[R.Tensor(...), R.Tensor(...)])"


def call_tir_inplace(parser: "GraphParser", node: ast.Call) -> Any:
    """A call by values: the arguments keep what they hold for who else uses them, and the results are the new contents.

    ``inplace_indices``: for each output, the argument whose new content it is, or -1 for an output of its own.
    """
    names = ("callee", "args", "inplace_indices", "out_sinfo", "tir_vars")
    given = dict(zip(names, node.args)) | {str(k.arg): k.value for k in node.keywords}
    indices = given.pop("inplace_indices", None)
    if indices is None:
        raise Problem(f"says which outputs are new contents of arguments: {HOW}")
    found = parser.expression(indices)
    found = list(found) if isinstance(found, tuple) else [found]
    plain = ast.copy_location(ast.Call(node.func, [], [ast.keyword(n, v) for n, v in given.items()]), node)
    callee, operands, outputs, several, integers = call_arguments(parser, plain)
    types = next(given[n] for n in RESULT_TYPES if n in given)
    if not isinstance(callee, PrimFunc):
        raise parser.source.error("R.call_tir_inplace calls a kernel, a function under @T.prim_func", node)
    if len(found) != len(outputs) or not all(isinstance(i, int) and -1 <= i < len(operands) for i in found):
        raise parser.source.error(f"inplace_indices has, for each of {len(outputs)} outputs, an argument's number or -1", indices)
    for index, type_ in zip(found, outputs):
        if index >= 0 and operands[index].type != type_:
            raise parser.source.error(f"the output is {type_}, and argument {index}, whose new content it is, {operands[index].type}",
                                      types)
    kernel = parser.program.signature(callee)
    places = list(kernel.attributes[INPLACE]) if INPLACE in kernel.attributes else [-1] * len(outputs)
    if len(places) == len(found):
        # an argument that the kernel writes before it reads it is an output of its own, and what it held is not wanted
        unread = {index for index, place in zip(found, places) if index >= 0 and place < 0}
        operands = [v for n, v in enumerate(operands) if n not in unread]
        kept = [n for n in range(len(operands) + len(unread)) if n not in unread]
        if any(place >= 0 and (index < 0 or kept[place] != index) for index, place in zip(found, places)):
            raise parser.source.error(f"'{callee.__name__}' changes its arguments {[p for p in places if p >= 0]} in place; "
                                      f"inplace_indices says {found}", indices)
    results = call(parser.program, callee, operands, outputs, parser.main, None if integers is None else integers.sizes)
    return tuple(results) if several else results[0]

"""The arguments of ``R.call_tir`` and similar calls: callee, operands, types of the outputs, integers."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from legato.core.mlir import ir
from legato.frontends.script.graph.parser import GraphParser
from legato.frontends.script.graph.sizes import type_of
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ShapeInfo, TensorInfo, TupleInfo

RESULT_TYPES = ("out_sinfo", "out_ty", "sinfo_args", "ty_args", "out_shape")  # TVM's names, old and new, of the argument


@dataclass(frozen=True)
class CallArguments:
    """The arguments of ``R.call_tir`` or a similar call. ``several``: whether the result is a tuple; ``integers``: ``tir_vars``."""

    callee: Any
    operands: list[Any]
    outputs: list[ir.Type]
    several: bool
    integers: ShapeInfo | None


def tensor_argument(parser: GraphParser, value: Any, node: ast.expr) -> ir.Value:
    """The tensor that an argument of a kernel is. ScriptError for any other value."""
    if not isinstance(value, ir.Value):
        raise parser.error("its arguments are tensors, in a tuple; integers go by tir_vars=R.shape([...])", node)
    return value


def call_arguments(parser: GraphParser, node: ast.Call,
                   argument: Callable[[GraphParser, Any, ast.expr], Any] = tensor_argument) -> CallArguments:
    """The arguments of a call by position or by name. ``argument`` checks each operand."""
    given = dict(zip(("callee", "args", "out_sinfo", "tir_vars"), node.args)) | {k.arg: k.value for k in node.keywords}
    outputs = next((given[n] for n in RESULT_TYPES if n in given), None)
    if "callee" not in given and "func" in given:
        given["callee"] = given["func"]
    if outputs is None or "callee" not in given:
        raise Misuse("says what is called, with what, and the types of its outputs: R.call_tir(cls.f, (x,), R.Tensor((n,), \"float32\"))")
    operands = parser.expression(given["args"]) if "args" in given else ()
    operands = list(operands) if isinstance(operands, (tuple, list)) else [operands]
    operands = [argument(parser, operand, given["args"]) for operand in operands]
    info = parser.python(outputs)
    if "dtype" in given:  # R.call_tir(f, (x,), (1, 128), dtype="float32")
        sizes = info.sizes if isinstance(info, ShapeInfo) else info
        if not isinstance(sizes, (tuple, list)):
            raise parser.error("with dtype=, an output is said by its shape: R.call_tir(f, (x,), (1, 128), dtype=\"float32\")",
                               outputs)
        info = TensorInfo(tuple(sizes), parser.expression(given["dtype"]))
    several = isinstance(info, (list, tuple, TupleInfo))
    infos = list(info.fields if isinstance(info, TupleInfo) else info) if several else [info]
    types = [type_of(parser, i, outputs) for i in infos if isinstance(i, TensorInfo)]
    if len(types) != len(infos):
        raise parser.error("the outputs are R.Tensor(...), or a list of them", outputs)
    integers = parser.expression(given["tir_vars"]) if "tir_vars" in given else None
    if isinstance(integers, tuple):
        integers = ShapeInfo(integers)
    if integers is not None and not isinstance(integers, ShapeInfo):
        raise parser.error("tir_vars are integers: tir_vars=R.shape([n, 3])", given["tir_vars"])
    return CallArguments(parser.expression(given["callee"]), operands, types, several, integers)


def one_or_tuple(results: Any, several: bool) -> Any:
    """The results of a call as its value: a tuple, or the only one."""
    results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    return results if several else results[0]

"""Calls of kernels and packed functions from a graph's script."""

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from legato.core.mlir import func, ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.dialects.tir.markers import INPLACE, NAMES, SIGNATURE
from legato.frontends.script.language.functions import PrimFunc
from legato.frontends.script.language.source import Problem
from legato.frontends.script.language.types import ShapeInfo, TensorInfo, TupleInfo
from legato.frontends.script.program import Program, call_kernel, plain

if TYPE_CHECKING:
    from legato.frontends.script.graph.parse import GraphParser


RESULT_TYPES = ("out_sinfo", "out_ty", "sinfo_args", "ty_args", "out_shape")   # as TVM has called it, one time or another


def tensor_argument(parser: "GraphParser", value: Any, node: ast.expr) -> ir.Value:
    if not isinstance(value, ir.Value):
        raise parser.source.error("its arguments are tensors, in a tuple; integers go by tir_vars=R.shape([...])", node)
    return value


def call_arguments(parser: "GraphParser", node: ast.Call, argument: Callable[["GraphParser", Any, ast.expr], Any] = tensor_argument,
                   ) -> tuple[Any, list[Any], list[ir.Type], bool, ShapeInfo | None]:
    """Callee, operands, output types, whether several are given as a tuple, and the integers (``tir_vars``)."""
    given = dict(zip(("callee", "args", "out_sinfo", "tir_vars"), node.args)) | {k.arg: k.value for k in node.keywords}
    outputs = next((given[n] for n in RESULT_TYPES if n in given), None)
    if "callee" not in given and "func" in given:
        given["callee"] = given["func"]
    if outputs is None or "callee" not in given:
        raise Problem("says what is called, with what, and the types of its outputs: R.call_tir(cls.f, (x,), R.Tensor((n,), \"float32\"))")
    operands = parser.expression(given["args"]) if "args" in given else ()
    operands = list(operands) if isinstance(operands, (tuple, list)) else [operands]
    operands = [argument(parser, operand, given["args"]) for operand in operands]
    info = parser.python(outputs)
    if "dtype" in given:  # R.call_tir(f, (x,), (1, 128), dtype="float32")
        sizes = info.sizes if isinstance(info, ShapeInfo) else info
        if not isinstance(sizes, (tuple, list)):
            raise parser.source.error("with dtype=, an output is said by its shape: R.call_tir(f, (x,), (1, 128), dtype=\"float32\")",
                                      outputs)
        info = TensorInfo(tuple(sizes), parser.expression(given["dtype"]))
    several = isinstance(info, (list, tuple, TupleInfo))
    infos = list(info.fields if isinstance(info, TupleInfo) else info) if several else [info]
    types = [parser.type_of(i, outputs) for i in infos if isinstance(i, TensorInfo)]
    if len(types) != len(infos):
        raise parser.source.error("the outputs are R.Tensor(...), or a list of them", outputs)
    integers = parser.expression(given["tir_vars"]) if "tir_vars" in given else None
    if isinstance(integers, tuple):
        integers = ShapeInfo(integers)
    if integers is not None and not isinstance(integers, ShapeInfo):
        raise parser.source.error("tir_vars are integers: tir_vars=R.shape([n, 3])", given["tir_vars"])
    return parser.expression(given["callee"]), operands, types, several, integers


def call_tir(parser: "GraphParser", node: ast.Call) -> Any:
    """``R.call_tir(cls.kernel, (x, y), out_sinfo=R.Tensor((n,), "float32"))``."""
    callee, operands, outputs, several, integers = call_arguments(parser, node)
    if isinstance(callee, str):  # as TVM had it at first
        return call_dps_packed(parser, node)
    if not isinstance(callee, PrimFunc):
        raise parser.source.error("R.call_tir calls a kernel, a function under @T.prim_func", node)
    results = call(parser.program, callee, operands, outputs, parser.main, None if integers is None else integers.sizes)
    return tuple(results) if several else results[0]


def call(program: Program, callee: PrimFunc, operands: list[ir.Value], outputs: list[ir.Type], main: func.FuncOp,
         integers: Sequence[Any] | None = None) -> list[ir.Value]:
    """A call of a kernel at the insertion point in ``main``, made for these types. Problem where they are not the kernel's."""
    kernel = program.signature(callee)
    signature, names = kernel.attributes[SIGNATURE].value, [a.value for a in kernel.attributes[NAMES]]
    tensors = [t for t in signature.inputs if not isinstance(t, ir.IndexType)]
    if len(tensors) != len(operands) + len(outputs) or len(outputs) != len(signature.results):
        results = len(signature.results)
        raise Problem(f"'{callee.__name__}' takes {len(tensors) - results} tensors and has {results} outputs; "
                      f"{len(operands)} and {len(outputs)} are given"
                      + ("; it changes arguments in place: R.call_tir_inplace" if INPLACE in kernel.attributes else ""))
    table: dict[str, Any] = {}
    given = [v.type for v in operands] + outputs
    called = [n for n, t in zip(names, signature.inputs) if not isinstance(t, ir.IndexType)]
    scalars = [n for n, t in zip(names, signature.inputs) if isinstance(t, ir.IndexType)]
    if integers is not None:
        table |= {dims.symbol_name(n): s for n, s in zip(scalars, integers)}
    for name, expected, found in zip(called, tensors, given):
        match_type(table, callee.__name__, name, expected, found)
    for name in scalars:
        if dims.symbol_name(name) not in table:
            raise Problem(f"'{callee.__name__}' takes the integer '{name}': give it by tir_vars=R.shape([...])")
    inner = {dims.symbol_name(n) for n in scalars}
    kernel = program.kernel(callee, {n: s for n, s in table.items() if isinstance(s, int) and n not in inner})
    values = [dims.materialize(table[dims.symbol_name(n)], main) for n in scalars]
    return call_kernel(kernel, [*(plain(v) for v in operands), *values], outputs, main)


def match_type(table: dict[str, Any], callee: str, name: str, expected: ir.Type, found: ir.Type) -> None:
    """Finds what a kernel's sizes are in a call. Problem where they do not fit."""
    wrong = Problem(f"'{callee}' has {shown(expected)} for {name}; here it is {shown(found)}")
    if expected.rank != found.rank or expected.element_type != found.element_type:
        raise wrong
    later = []
    for size, actual in zip(dims.dims(expected), dims.dims(found)):
        if isinstance(size, dims.Dim) and size.is_symbol:
            if not dims.compatible(table.setdefault(str(size), actual), actual):
                raise Problem(f"'{callee}': the size {size} is {table[str(size)]} elsewhere, and {actual} in {name}")
        else:
            later.append((size, actual))
    for size, actual in later:
        expectation = size if isinstance(size, int) else dims.substitute(size, table)
        known = isinstance(expectation, int) or all(s in dims.symbols(actual) or s in table for s in dims.symbols(expectation))
        if known and not dims.compatible(expectation, actual):
            raise wrong


def shown(type_: ir.Type) -> str:
    sizes = ", ".join(map(str, dims.dims(type_)))
    return f"({sizes}) of {type_.element_type}"


def call_dps_packed(parser: "GraphParser", node: ast.Call) -> Any:
    """``R.call_dps_packed("name", (x, 3, "text"), R.Tensor(...))``: a packed function that writes the outputs which it is given last."""
    callee, operands, outputs, several, integers = call_arguments(parser, node, packed_argument)
    if not isinstance(callee, str):
        raise parser.source.error("R.call_dps_packed calls a packed function by its name", node)
    if integers is not None:
        operands = [*operands, *integers.sizes]
    results = relax.call_dps_packed(callee, operands, *outputs)
    return results if isinstance(results, tuple) == several else (results,) if several else results[0]


def call_packed(parser: "GraphParser", node: ast.Call, pure: bool = False) -> Any:
    """``R.call_packed("name", x, 3, "text", sinfo_args=R.Tensor(("m", 4), "float32"))``: a packed function that returns tensors of its own;
    several as ``R.Tuple(R.Tensor(...), ...)``, none as ``R.Tuple()``. A new name of a size gets its value from what comes back."""
    keywords = {k.arg: k.value for k in node.keywords}
    types = next((keywords.pop(n) for n in RESULT_TYPES if n in keywords), None)
    if not node.args or types is None or set(keywords) - {"attrs"}:
        unknown = ", ".join(sorted(set(map(str, keywords)) - {"attrs"}))
        raise Problem('R.call_packed("name", arguments..., sinfo_args=R.Tensor(...))' + (f" has no {unknown}" if unknown else " says both"))
    callee = parser.expression(node.args[0])
    if not isinstance(callee, str):
        raise parser.source.error("R.call_packed calls a packed function by its name", node.args[0])
    operands = [packed_argument(parser, parser.expression(a), a) for a in node.args[1:]]
    info = parser.python(types)
    if isinstance(info, (list, tuple)) and len(info) == 1:   # sinfo_args is a list in TVM, of one type
        info = info[0]
    several = info is None or isinstance(info, (list, tuple, TupleInfo))
    infos = [] if info is None else list(info.fields if isinstance(info, TupleInfo) else info) if several else [info]
    results = parser.packed_types(callee, infos, types)
    made = relax.call_packed(callee, operands, *results, pure=pure)
    return made if isinstance(made, tuple) == several else (made,) if several else made[0]


def packed_argument(parser: "GraphParser", value: Any, node: ast.expr) -> Any:
    """What a packed function can be given: tensors, numbers, texts, shapes, sizes."""
    if isinstance(value, ShapeInfo):
        return list(value.sizes)
    if isinstance(value, (ir.Value, bool, int, float, str, dims.Dim, np.integer, np.floating)):
        return value.item() if isinstance(value, (np.integer, np.floating)) else value
    raise parser.source.error("a packed function takes tensors, numbers, texts, R.shape([...]) and sizes", node)

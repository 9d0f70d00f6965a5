"""Words of a kernel's script that take their arguments as syntax, not only as values."""

import ast
from collections.abc import Callable
from typing import Any

from legato.core.mlir import ir
from legato.dialects import tir
from legato.frontends.script.kernel.arguments import arguments, named
from legato.frontends.script.kernel.arithmetic import select
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.elements import indices
from legato.frontends.script.kernel.intrinsics import check_dtype
from legato.frontends.script.kernel.lanes import LaneValues, broadcast, lanes_of, lifted, ramp
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.pointers import POINTER, PointerValue, extern_value, pointer
from legato.frontends.script.kernel.values import Scalar, common, condition, convert, without_literals
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import value_type

RESTATED = ("dtype", "span")  # arguments that say again what the operands' types say
EXTERN_FORM = "T.call_extern takes the type of its result and the function's name, then the arguments"


def if_then_else_word(parser: KernelParser, node: ast.Call) -> Any:
    """``T.if_then_else(test, a, b)``."""
    if len(node.args) != 3 or any(k.arg not in RESTATED for k in node.keywords):
        raise Misuse("T.if_then_else takes a condition, the value where it holds, and the value where it does not")
    return if_then_else(parser, *node.args)


def if_then_else(parser: KernelParser, test: ast.expr, then: ast.expr, other: ast.expr) -> Any:
    """The value of one of two expressions; the other one is not evaluated (for a condition of several lanes, both are)."""
    return one_of(parser.expression(test), lambda: parser.expression(then), lambda: parser.expression(other))


def one_of(test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The value of one of two expressions, which are built by calls of ``then`` and ``other``."""
    if isinstance(test, LaneValues):
        return lifted(select, test, then(), other())
    if isinstance(test, (bool, int, float)):
        return then() if test else other()
    # the type of the result is known only once both branches are built: build them in an scf.if without results, and move them
    trial = ir.Operation.create("scf.if", [], [condition(test)], regions=2)
    results = []
    try:
        for region, branch in zip(trial.regions, (then, other)):
            with ir.InsertionPoint(region.blocks.append()):
                results.append(branch())
        dtype = without_literals(common(*results))
    except BaseException:
        trial.erase()
        raise
    made = ir.Operation.create("scf.if", [value_type(dtype)], [trial.operands[0]], regions=2)
    for old, new, result in zip(trial.regions, made.regions, results):
        block = new.blocks.append()
        for op in list(old.blocks[0].operations):
            block.append(op)
        with ir.InsertionPoint(block):
            ir.Operation.create("scf.yield", [], [convert(result, dtype).value])
    trial.erase()
    return Scalar(made.results[0], dtype)


def value_itself(parser: KernelParser, node: ast.Call) -> Any:
    """``T.meta_var(x)`` and ``T.bind(x)``: the value."""
    return named(parser, node, "value").get("value")


def let(parser: KernelParser, node: ast.Call) -> Any:
    """``T.Let(body, where={x: value})``."""
    where = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "where"), None)
    if not node.args or not isinstance(where, ast.Dict) or not all(isinstance(k, ast.Name) for k in where.keys):
        raise Misuse("T.Let says a value and what its names stand for: T.Let(x + 1, where={x: A[i]})")
    names = {k.id: parser.expression(v) for k, v in zip(where.keys, where.values) if isinstance(k, ast.Name)}
    outer, parser.scope = parser.scope, {**parser.scope, **names}
    try:
        return parser.expression(node.args[0])
    finally:
        parser.scope = outer


def ramp_word(parser: KernelParser, node: ast.Call) -> Any:
    """``T.Ramp(base, stride, lanes)``."""
    given = named(parser, node, "base", "stride", "lanes")
    if len(given) != 3:
        raise Misuse("T.Ramp takes a base, a stride and a number of lanes")
    return ramp(given["base"], given["stride"], given["lanes"])


def broadcast_word(parser: KernelParser, node: ast.Call) -> Any:
    """``T.Broadcast(x, lanes)``."""
    given = named(parser, node, "value", "lanes")
    if len(given) != 2:
        raise Misuse("T.Broadcast takes a value and a number of lanes")
    return broadcast(given["value"], given["lanes"])


def shuffle(parser: KernelParser, node: ast.Call) -> Any:
    """``T.Shuffle([vectors], [lanes])``: lanes by their numbers."""
    given = named(parser, node, "vectors", "indices")
    if len(given) != 2 or not all(isinstance(v, tuple) for v in given.values()):
        raise Misuse("T.Shuffle takes a list of vectors and a list of lanes")
    every = [v for x in given["vectors"] for v in (x.values if isinstance(x, LaneValues) else (x,))]
    if not all(isinstance(i, int) and 0 <= i < len(every) for i in given["indices"]):
        raise Misuse(f"the lanes are 0 to {len(every) - 1}")
    picked = [every[i] for i in given["indices"]]
    return picked[0] if len(picked) == 1 else lanes_of(len(picked), picked.__getitem__)


def address_of(parser: KernelParser, node: ast.Call) -> PointerValue:
    """``T.address_of(A[i, j])``."""
    element = node.args[0] if len(node.args) == 1 else None
    buffer = parser.expression(element.value) if isinstance(element, ast.Subscript) else None
    if not isinstance(buffer, Buffer) or not isinstance(element, ast.Subscript):
        raise Misuse("T.address_of takes an element of a buffer: T.address_of(A[i, j])")
    return pointer(buffer, indices(parser, element.slice, buffer))


def call_extern(parser: KernelParser, node: ast.Call) -> Scalar | PointerValue | None:
    """``T.call_extern("float32", "f", x, ...)``; the older ``T.call_extern("f", x, ..., dtype="float32")``. Of type "handle" it is an
    address, which other C functions take."""
    given = arguments(parser, node)
    keywords = {k.arg: parser.expression(k.value) for k in node.keywords}
    dtype = keywords.pop("dtype", None)
    if keywords:
        raise Misuse(EXTERN_FORM)
    return extern(given, dtype)


def extern(given: list[Any], dtype: Any) -> Scalar | PointerValue | None:
    """A call of a C function; ``given``: the type of its result, unless it is ``dtype``, its name, then the arguments."""
    if dtype is None and given:
        dtype, *given = given
    name, *given = given or [None]
    if not isinstance(name, str) or not isinstance(dtype, str):
        raise Misuse(EXTERN_FORM)
    operands = [extern_value(a) for a in given]
    if dtype == "handle":
        return PointerValue(tir.call_extern(name, operands, [ir.Type.parse(POINTER)])[0])
    made = tir.call_extern(name, operands, [] if dtype in ("void", "") else [value_type(check_dtype(dtype))])
    return Scalar(made[0], dtype) if made else None

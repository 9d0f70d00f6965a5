"""Calls in a kernel: functions of the script, methods of buffers, and functions of Python."""

import ast
import inspect
from types import FunctionType
from typing import Any

from legato.frontends.script.kernel.arguments import arguments, named
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.elements import load, store_at
from legato.frontends.script.kernel.forms import RESTATED
from legato.frontends.script.kernel.intrinsics import ScalarFunction, reinterpret
from legato.frontends.script.kernel.lanes import LaneValues, broadcast, lifted, ramp, vector_type
from legato.frontends.script.kernel.own_ops import call_own_op, own_op
from legato.frontends.script.kernel.parser import KernelParser
from legato.frontends.script.kernel.pointers import PointerValue, pointer, pointer_behind
from legato.frontends.script.kernel.python_calls import BUILTINS, call_builtin, call_python
from legato.frontends.script.kernel.values import Scalar, cast
from legato.frontends.script.kernel.vocabulary import FUNCTIONS, Form
from legato.frontends.script.language.refused import refused
from legato.frontends.script.language.source import Misuse

TYPED = ("cast", "Cast", "reinterpret", "min_value", "max_value", "infinity")  # functions whose dtype= is an operand
NAMED = ("dtype", "value", "x", "a", "b")  # names by which operands may be given, in the order of the call


def call(parser: KernelParser, node: ast.Call) -> Any:
    """A call of any kind."""
    word = parser.word(node)
    if word is None:
        return call_object(parser, node)
    entry = FUNCTIONS.get(word)
    if isinstance(entry, Form):
        return entry.parse(parser, node)
    if entry is None and (op := own_op(word)) is not None:
        return call_own_op(parser, node, op)
    vector = vector_type(word) if word.count("x") else None
    if entry is None and vector is None:
        raise Misuse(refused(word) or f"T.{word} is not supported as a value in a kernel")
    taken = [k for k in node.keywords if k.arg not in RESTATED or (k.arg == "dtype" and word in TYPED)]
    for keyword in taken:
        if keyword.arg not in NAMED:
            raise parser.error(f"T.{word} has no argument '{keyword.arg}'", keyword.value)
    given = arguments(parser, node) + [parser.expression(k.value) for k in taken]
    if entry is not None:
        return intrinsic(word, entry, given)
    if len(given) != 1:
        raise Misuse(f"T.{word} takes one value")
    return to_vector(word, given[0])


def intrinsic(word: str, entry: ScalarFunction, given: list[Any]) -> Any:
    """A function of the script on values, lane by lane."""
    if word in ("cast", "Cast", "reinterpret") and len(given) == 2:
        x, dtype = reversed(given) if isinstance(given[0], str) else given
        if (vector := vector_type(dtype)) is not None:
            return to_vector(dtype, x) if word != "reinterpret" else lifted(lambda v: reinterpret(v, vector[0]), x)
    try:
        inspect.signature(entry.build).bind(*given)
    except TypeError as error:
        raise Misuse(f"T.{word}: {error}") from None
    for value in given:
        if isinstance(value, Buffer):
            raise Misuse(f"T.{word} takes values; '{value.name}' is a buffer: give an element of it")
    return lifted(entry.build, *given)


def to_vector(dtype: str, x: Any) -> LaneValues:
    """A value as lanes of a type like ``float32x4``. Misuse where it has another number of lanes."""
    element, count = vector_type(dtype) or ("", 0)
    lanes = x if isinstance(x, LaneValues) else broadcast(x, count)
    if len(lanes) != count:
        raise Misuse(f"{len(lanes)} lanes are not {dtype}")
    return lifted(lambda v: cast(v, element), lanes)


def call_object(parser: KernelParser, node: ast.Call) -> Any:
    """A call of anything but a word of ``T``: a method of a buffer or value, a builtin, or a Python function."""
    if isinstance(node.func, ast.Attribute):
        base = parser.expression(node.func.value)
        if isinstance(base, Buffer):
            return buffer_method(parser, base, node.func.attr, node)
        if isinstance(base, (Scalar, LaneValues)) and node.func.attr == "astype":
            return intrinsic("cast", FUNCTIONS["cast"], [base, *named(parser, node, "dtype").values()])
        called = getattr(base, node.func.attr, None) if not isinstance(base, Scalar) else None
    elif isinstance(node.func, ast.Name) and node.func.id not in parser.scope:
        called = parser.source.names.get(node.func.id)
        if called is None:
            raise parser.error(f"'{node.func.id}' is not defined", node.func)
    else:
        called = parser.expression(node.func)
    if any(called is b for b in BUILTINS):
        return call_builtin(called, arguments(parser, node))
    if isinstance(called, FunctionType):
        given = arguments(parser, node)
        return call_python(called, given, {str(k.arg): parser.expression(k.value) for k in node.keywords})
    raise Misuse("a kernel calls words of the script (T.exp, ...), its macros, functions of Python on indices, min, max and abs; "
                  "other functions by T.call_extern")


def buffer_method(parser: KernelParser, buffer: Buffer, name: str, node: ast.Call) -> Any:
    """A method of a buffer, by name. Misuse for an unknown one."""
    if name not in METHODS:
        raise Misuse(refused(f"Buffer.{name}") or f"a buffer has no method '{name}'; it has {', '.join(METHODS)}")
    return METHODS[name](parser, buffer, node)


def access_ptr(parser: KernelParser, buffer: Buffer, node: ast.Call) -> PointerValue:
    """``A.access_ptr("r", offset=n)``: the address of element number n, row-major."""
    given = named(parser, node, "access_mask", "ptr_type", "content_lanes", "offset", "extent")
    return pointer_behind(buffer, given["offset"]) if "offset" in given else pointer(buffer, [0] * buffer.rank)


def vload(parser: KernelParser, buffer: Buffer, node: ast.Call) -> Any:
    """``A.vload([i], "float32x4")``."""
    given = named(parser, node, "begin", "dtype")
    return load(buffer, lanes_from(given.get("begin", ()), (vector_type(given.get("dtype")) or ("", 1))[1]))


def vstore(parser: KernelParser, buffer: Buffer, node: ast.Call) -> None:
    """``A.vstore([i], lanes)``."""
    given = named(parser, node, "begin", "value")
    value = given.get("value")
    store_at(buffer, lanes_from(given.get("begin", ()), len(value) if isinstance(value, LaneValues) else 1), value)


def lanes_from(begin: Any, count: int) -> list[Any]:
    """The indices of ``count`` consecutive elements."""
    found = list(begin) if isinstance(begin, tuple) else [begin]
    found[-1] = ramp(found[-1], 1, count) if count > 1 else found[-1]
    return found


def offset_of(parser: KernelParser, buffer: Buffer, node: ast.Call) -> tuple[Any]:
    """``A.offset_of((i, j))``: the element's offset in memory, as a tuple of one."""
    indices = named(parser, node, "indices").get("indices", ())
    return (buffer.linear(list(indices) if isinstance(indices, tuple) else [indices]),)


METHODS = {"access_ptr": access_ptr, "vload": vload, "vstore": vstore, "offset_of": offset_of}

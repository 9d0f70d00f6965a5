"""Python functions that a kernel calls at parse time, and the words of ``T`` in them."""

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.dialects.relax import dims
from legato.frontends.script.kernel import operators
from legato.frontends.script.kernel.allocations import allocated_by_python
from legato.frontends.script.kernel.arithmetic import binary
from legato.frontends.script.kernel.buffers import Buffer
from legato.frontends.script.kernel.intrinsics import ScalarFunction, absolute
from legato.frontends.script.kernel.lanes import LaneValues, lifted
from legato.frontends.script.kernel.own_ops import build_own_op, own_op
from legato.frontends.script.kernel.values import KernelValue, Scalar, cast
from legato.frontends.script.kernel.vocabulary import FUNCTIONS
from legato.frontends.script.language.source import Misuse
from legato.frontends.script.language.types import ScalarType

BUILTINS = (min, max, abs, int, float, bool, len, round, sum, tuple, list)
ALLOCATES = ("alloc_buffer", "sblock_alloc_buffer", "alloc_local", "alloc_shared")

_running: list[FunctionType] = []  # the Python functions that kernels being parsed are calling
for _kind in (Scalar, LaneValues):
    operators.install(_kind, lambda: bool(_running))


def call_word(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any] | None:
    """``T.<word>(...)`` called by Python: on values of a kernel, or to allocate a buffer, in a function that a kernel calls.

    None where no kernel is being parsed, or the word is no function of values.
    """
    if _running and word in ALLOCATES:
        return (allocated_by_python(word, *arguments, **keywords),)
    if word == "meta_var" and len(arguments) == 1:
        return (arguments[0],)
    if _running and (op := own_op(word)) is not None:
        return (build_own_op(op, list(arguments), dict(keywords)),)
    if _running and word == "if_then_else":
        raise LegatoError("T.if_then_else: a function's arguments are computed before it is called, also the one that is not chosen: use "
                          "T.Select, or write a macro, @T.macro")
    entry = FUNCTIONS.get(word)
    if not isinstance(entry, ScalarFunction) or not (_running or any(isinstance(a, KernelValue) for a in arguments)):
        return None
    return (lifted(entry.build, *arguments),)


def call_python(called: FunctionType, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Runs a Python function on a kernel's values, whose operators build expressions. Misuse for any exception it raises."""
    _running.append(called)
    try:
        result = called(*arguments, **keywords)
    except Exception as error:  # whatever the user's own function raises
        raise Misuse(f"the Python function {called.__name__}, called while the kernel is parsed, raised {type(error).__name__}: "
                      f"{error}") from error
    finally:
        _running.pop()
    return checked(result, called.__name__)


def checked(result: Any, name: str) -> Any:
    """The result of a Python function, lists as tuples. Misuse for what is no value of a kernel."""
    if isinstance(result, (tuple, list)):
        return tuple(checked(r, name) for r in result)
    if not isinstance(result, (Scalar, LaneValues, Buffer, bool, int, float, str)):
        raise Misuse(f"the Python function {name} gave a {type(result).__name__}; values of the kernel are numbers and expressions")
    return result


def call_builtin(called: Callable[..., Any], arguments: list[Any]) -> Any:
    """A builtin function: Python's own on Python values; min, max, abs and casts on a kernel's values too."""
    name = called.__name__
    if all(not isinstance(a, (Scalar, LaneValues, Buffer)) for a in arguments) and called not in (min, max):
        try:
            made = called(*arguments)
        except (TypeError, ValueError, OverflowError) as error:
            raise Misuse(f"{name}(): {error}") from None
        return tuple(made) if isinstance(made, list) else made
    if called in (min, max) and len(arguments) >= 2:
        total = arguments[0]
        for other in arguments[1:]:
            total = lifted(lambda a, b: binary(name, a, b), total, other)
        return total
    if called in (int, float, bool) and len(arguments) == 1:
        return lifted(lambda x: cast(x, {int: "int32", float: "float32", bool: "bool"}[called]), *arguments)
    if called is abs and len(arguments) == 1:
        return lifted(absolute, *arguments)
    raise Misuse(f"{name}() of these is not supported in a kernel")


def captured(name: str, value: Any) -> Any:
    """A captured Python value as a value of a kernel. Misuse for a type without a meaning there."""
    if isinstance(value, (bool, int, float, str, tuple, list)) or value is None:
        return tuple(value) if isinstance(value, list) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (FunctionType, ModuleType, BuiltinFunctionType, type)):
        return value
    if isinstance(value, dims.Dim):
        raise Misuse(f"the size '{name}' has no value here")
    if isinstance(value, ScalarType):
        return value.dtype
    raise Misuse(f"'{name}' is a Python {type(value).__name__}, which has no meaning in a kernel: numbers, texts and tuples of them have")

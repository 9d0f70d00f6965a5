"""The decorators of the script language: ``@T.prim_func``, ``@T.macro``, ``@R.function``, ``@I.ir_module``."""

import inspect
import sys
from collections.abc import Callable
from typing import Any, overload

from legato.core.errors import LegatoError
from legato.dialects import Module
from legato.dialects.loading import scratch_context
from legato.frontends.script.functions import PrimFunc, RelaxFunc, module_of_class
from legato.frontends.script.language.functions import Function, Macro, source_of
from legato.frontends.script.program import Program


def prim_func(function: Callable | None = None, *, private: bool = False, check_well_formed: bool = True, s_tir: bool = True,
              tirx: bool = False) -> Any:
    """A kernel written as a Python function: ``@T.prim_func``. See docs/script.md. ScriptError, with its line, for an error in it.

    The options are TVM's and have no effect: a kernel is always private and checked.
    """
    del private, check_well_formed, s_tir, tirx
    names = _local_names()

    def decorate(f: Callable) -> Function:
        if in_class(f):
            return PrimFunc(f, {})
        made = PrimFunc(f, names)
        Program(scratch_context()).kernel(made)  # without a graph that calls it, which not every kernel can have
        return made

    return _decorated(function, "T.prim_func", decorate)


def relax_function(function: Callable | None = None, *, pure: bool = True, private: bool = False, check_well_formed: bool = True) -> Any:
    """A graph written as a Python function: ``@R.function``. ScriptError, with its line, for an error in it.

    ``private``: it cannot be called from outside of its module. The other options are TVM's and have no effect.
    """
    del pure, check_well_formed
    names = _local_names()

    def decorate(f: Callable) -> Function:
        if in_class(f):
            return RelaxFunc(f, private, {})
        made = RelaxFunc(f, private, names)
        made.module(scratch_context())
        return made

    return _decorated(function, "R.function", decorate)


def macro(function: Callable | None = None, *, hygienic: bool = True) -> Any:
    """Statements of kernels, parsed at each call: ``@T.macro``.

    ``hygienic``: free names are looked up where the macro is defined, not where it is called.
    """
    names = _local_names()
    return _decorated(function, "T.macro", lambda f: Macro(source_of(f, names), hygienic))


@overload
def ir_module(cls: type) -> Module: ...
@overload
def ir_module(*, check_well_formed: bool = True, **_: Any) -> Callable[[type], Module]: ...
def ir_module(cls: type | None = None, *, check_well_formed: bool = True, **_: Any) -> Module | Callable[[type], Module]:
    """A module of kernels and graphs written as a class: ``@I.ir_module``. Gives a ``legato.Module``."""
    if cls is not None and not isinstance(cls, type):
        raise LegatoError("I.ir_module decorates a class")
    return module_of_class if cls is None else module_of_class(cls)


def no_python(function: Any = None, **_: Any) -> Any:
    """``@I.pyfunc``, ``@R.py_module``: refused with a LegatoError."""
    del function
    raise LegatoError("Python functions in a module (@I.pyfunc, @R.py_module): register the function, by "
                      "tvm_ffi.register_global_func(name, f), and call it from a graph by R.call_dps_packed(name, ...)")


def in_class(function: Callable) -> bool:
    """Whether a function is defined in the body of a class, whose decorator parses it."""
    outer = function.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def _local_names() -> dict[str, Any]:
    """The current local variables of the function that calls a decorator."""
    return dict(sys._getframe(2).f_locals)


def _decorated(function: Any, decorator: str, decorate: Callable[[Callable], Any]) -> Any:
    """The decorated function, or, for use with arguments, the decorator. LegatoError for anything but a function."""
    if function is None:
        return decorate
    if not inspect.isfunction(function):
        raise LegatoError(f"{decorator} decorates a function, and its arguments are given by name")
    if function.__name__ == "<lambda>" or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise LegatoError(f"{decorator} decorates a function that is written as def, without async")
    return decorate(function)

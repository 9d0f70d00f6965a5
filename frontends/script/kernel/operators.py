"""Python's operators on a kernel's values, for Python functions that a kernel calls while it is parsed (``f(vi, vj)``)."""

from collections.abc import Callable
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary, invert, negate
from legato.frontends.script.kernel.lanes import lifted

ARITHMETIC = (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("**", "pow"),
              ("<<", "lshift"), (">>", "rshift"), ("&", "and"), ("|", "or"), ("^", "xor"))
ORDER = (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"))
EQUALITY = (("==", "eq"), ("!=", "ne"))


def method(op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """The method for a binary operator, or for its reflected form."""
    def apply(self: Any, other: Any) -> Any:
        a, b = (other, self) if swapped else (self, other)
        return lifted(lambda x, y: binary(op, x, y), a, b)

    return apply


def equality(op: str, of_python: Callable[[Any, Any], Any], is_running: Callable[[], bool]) -> Callable[[Any, Any], Any]:
    """The method for == or !=: an expression in a function that a kernel calls, elsewhere the comparison of Python objects."""
    build = method(op)
    return lambda self, other: build(self, other) if is_running() else of_python(self, other)


def install(cls: type, is_running: Callable[[], bool]) -> None:
    """Gives a class of values Python's operators: + - * / // % ** << >> & | ^ < <= > >=, the unary - and ~; == and != while
    ``is_running()``, which says whether a kernel calls a function of Python."""
    for op, name in ARITHMETIC:
        setattr(cls, f"__{name}__", method(op))
        setattr(cls, f"__r{name}__", method(op, swapped=True))
    for op, name in ORDER:
        setattr(cls, f"__{name}__", method(op))
    for op, name in EQUALITY:
        setattr(cls, f"__{name}__", equality(op, getattr(cls, f"__{name}__"), is_running))
    cls.__neg__ = lambda self: lifted(negate, self)
    cls.__invert__ = lambda self: lifted(invert, self)

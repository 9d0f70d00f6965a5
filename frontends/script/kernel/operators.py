"""Python's operators on a kernel's values, for Python functions that a kernel calls while it is parsed (``f(vi, vj)``)."""

from collections.abc import Callable
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary, invert, negate
from legato.frontends.script.kernel.lanes import lifted

ARITHMETIC = (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("**", "pow"),
              ("<<", "lshift"), (">>", "rshift"), ("&", "and"), ("|", "or"), ("^", "xor"))
ORDER = (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"))


def method(op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """The method for a binary operator, or for its reflected form."""
    def apply(self: Any, other: Any) -> Any:
        a, b = (other, self) if swapped else (self, other)
        return lifted(lambda x, y: binary(op, x, y), a, b)

    return apply


def install(cls: type) -> None:
    """Gives a class of values Python's operators: + - * / // % ** << >> & | ^ < <= > >=, and the unary - and ~."""
    for op, name in ARITHMETIC:
        setattr(cls, f"__{name}__", method(op))
        setattr(cls, f"__r{name}__", method(op, swapped=True))
    for op, name in ORDER:
        setattr(cls, f"__{name}__", method(op))
    cls.__neg__ = lambda self: lifted(negate, self)
    cls.__invert__ = lambda self: lifted(invert, self)

"""Python's operators on a kernel's values: for functions of Python that are called while the kernel is parsed."""

from collections.abc import Callable
from typing import Any


class Operators:
    """A value, or several side by side, on which +, -, *, /, //, %, **, <<, >>, &, |, ^ and the orders build expressions."""

    def __bool__(self) -> bool:
        raise TypeError("whether a value of the kernel holds is known at run time only: use T.if_then_else or T.Select")

    def __neg__(self) -> Any:
        from . import lanes, values

        return lanes.lifted(values.negate, self)

    def __invert__(self) -> Any:
        from . import lanes, values

        return lanes.lifted(values.invert, self)


def _binary(op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        from . import lanes, values

        a, b = (other, self) if swapped else (self, other)
        return lanes.lifted(lambda x, y: values.binary(op, x, y), a, b)

    return method


for _op, _name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("**", "pow"),
                   ("<<", "lshift"), (">>", "rshift"), ("&", "and"), ("|", "or"), ("^", "xor")):
    setattr(Operators, f"__{_name}__", _binary(_op))
    setattr(Operators, f"__r{_name}__", _binary(_op, swapped=True))
for _op, _name in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge")):
    setattr(Operators, f"__{_name}__", _binary(_op))


def call_word(word: str, arguments: tuple[Any, ...]) -> tuple[Any] | None:
    """``T.<word>`` on values of a kernel, called by Python; None where none of the arguments is one, or the word is no function."""
    from .intrinsics import FUNCTIONS
    from .lanes import lifted

    if word == "meta_var" and len(arguments) == 1:
        return (arguments[0],)
    if word not in FUNCTIONS or not any(isinstance(a, Operators) for a in arguments):
        return None
    return (lifted(FUNCTIONS[word], *arguments),)

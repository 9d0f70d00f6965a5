"""Python's operators on a kernel's values: for functions of Python that are called while the kernel is parsed."""

from collections.abc import Callable
from typing import Any


class Operators:
    """A value, or several side by side, on which +, -, *, /, //, %, **, <<, >>, &, |, ^ and the orders build expressions."""

    def __bool__(self) -> bool:
        raise TypeError("whether a value of the kernel holds is known at run time only: use T.if_then_else or T.Select")

    def __neg__(self) -> Any:
        from legato.frontends.script.kernel import lanes, values

        return lanes.lifted(values.negate, self)

    def __invert__(self) -> Any:
        from legato.frontends.script.kernel import lanes, values

        return lanes.lifted(values.invert, self)


def _binary(op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        from legato.frontends.script.kernel import lanes, values

        a, b = (other, self) if swapped else (self, other)
        return lanes.lifted(lambda x, y: values.binary(op, x, y), a, b)

    return method


for _op, _name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("//", "floordiv"), ("%", "mod"), ("**", "pow"),
                   ("<<", "lshift"), (">>", "rshift"), ("&", "and"), ("|", "or"), ("^", "xor")):
    setattr(Operators, f"__{_name}__", _binary(_op))
    setattr(Operators, f"__r{_name}__", _binary(_op, swapped=True))
for _op, _name in (("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge")):
    setattr(Operators, f"__{_name}__", _binary(_op))


ALLOCATES: list[Callable[..., Any]] = []  # of the kernels that are being parsed: what T.alloc_buffer does in a function of Python


def call_word(word: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any] | None:
    """``T.<word>`` called by Python, in a function that a kernel calls: on values of the kernel, or to allocate a buffer there.

    None where there is no kernel, or the word is no function.
    """
    from legato.frontends.script.kernel.intrinsics import FUNCTIONS
    from legato.frontends.script.kernel.lanes import lifted

    if ALLOCATES and word in ("alloc_buffer", "sblock_alloc_buffer", "alloc_local", "alloc_shared"):
        return (ALLOCATES[-1](word, *arguments, **keywords),)
    if word == "meta_var" and len(arguments) == 1:
        return (arguments[0],)
    if word not in FUNCTIONS or not any(isinstance(a, Operators) for a in arguments):
        return None
    return (lifted(FUNCTIONS[word], *arguments),)

"""What the host of a model on a Vulkan device computes: 64-bit integers with a sign, truth values as 0 and 1, and sizes as floats."""
import operator
from collections.abc import Callable
from typing import Any

WORD, LIMIT = (1 << 64) - 1, 1 << 63


def _div(a: int, b: int) -> int:
    """Division towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _unsigned(compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """An operation on words without a sign."""
    return lambda a, b: wrapped(compute(a & WORD, b & WORD), 64)


def _known(choose: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """One of two floats: of which one is NaN, the other."""
    return lambda a, b: b if a != a else a if b != b else choose(a, b)


def wrapped(value: int, bits: int) -> int:
    """An integer of so many bits, with its sign; of one bit 0 or 1."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _div, "rem": lambda a, b: a - _div(a, b) * b,
    "floordiv": operator.floordiv, "ceildiv": lambda a, b: -(-a // b), "max": max, "min": min,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "udiv": _unsigned(operator.floordiv),
    "urem": _unsigned(operator.mod), "uceildiv": _unsigned(lambda a, b: -(-a // b)), "umax": _unsigned(max), "umin": _unsigned(min),
}
FLOAT_BINARY: dict[str, Callable[[float, float], float]] = {
    "fadd": operator.add, "fsub": operator.sub, "fmul": operator.mul, "fmax": _known(max), "fmin": _known(min)}
UNARY: dict[str, Callable[[Any], Any]] = {"neg": operator.neg, "float": float}
COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
           "ult": lambda a, b: a & WORD < b & WORD, "ule": lambda a, b: a & WORD <= b & WORD,
           "ugt": lambda a, b: a & WORD > b & WORD, "uge": lambda a, b: a & WORD >= b & WORD}

"""Products of fixed-point numbers, as TVM computes them in quantized kernels: int32 in, int64 between, int32 out."""
from typing import Any

from legato.frontends.script.kernel.arithmetic import binary, compare, select
from legato.frontends.script.kernel.values import Scalar, as_scalar, cast, constant
from legato.frontends.script.language.source import Misuse


def multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Scalar:
    """``T.q_multiply_shift(x, y, q, s)``: ``x * y * 2**(s - q)``, rounded to the nearest number, up from a half; an ``s`` below 0 shifts to
    the right. Misuse for other types than int32."""
    x, y, q, s = (_number(one, name, "T.q_multiply_shift") for one, name in zip((x, y, q, s), "xyqs"))
    is_left, zero = compare(">", s, 0), constant(0, "int64")
    return _rounded(binary("<<", x, select(is_left, s, zero)), y, binary("+", q, select(is_left, zero, binary("-", zero, s))))


def multiply_shift_per_axis(x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any,
                             is_rshift_required: Any) -> Scalar:
    """``T.q_multiply_shift_per_axis(x, y, ls, rs, q, is_lshift_required, is_rshift_required)``: ``x * 2**ls * y * 2**-(q + rs)``,
    rounded to the nearest number, up from a half, without the shift by ``ls`` where the first flag is 0. Misuse for other types than
    int32."""
    names = ("x", "y", "ls", "rs", "q")
    x, y, ls, rs, q = (_number(one, name, "T.q_multiply_shift_per_axis") for one, name in zip((x, y, ls, rs, q), names))
    required = is_lshift_required if isinstance(is_lshift_required, Scalar) else constant(int(is_lshift_required), "int32")
    return _rounded(select(compare("!=", required, 0), binary("<<", x, ls), x), y, binary("+", q, rs))


def _rounded(x: Scalar, y: Scalar, shift: Scalar) -> Scalar:
    """``x * y / 2**shift`` in int64, rounded half up, as int32."""
    one = constant(1, "int64")
    half = binary("<<", one, binary("-", shift, one))
    return cast(binary(">>", binary("+", binary("*", x, y), half), shift), "int32")


def _number(x: Any, name: str, word: str) -> Scalar:
    """An operand as int64."""
    x = as_scalar(x, "int32")
    if x.dtype not in ("int32", "index"):
        raise Misuse(f"{word}: {name} is a number of int32, not {x.dtype}: cast it first")
    return cast(x, "int64")

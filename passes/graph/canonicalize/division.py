"""Patterns of relax-canonicalize: divisions by constants."""
import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.functions import defining_op
from legato.passes.graph.rewriter import GraphRewriter, is_float

_MOVES = ("reshape", "permute_dims", "squeeze", "expand_dims", "broadcast_to", "strided_slice", "concat", "take", "gather_elements", "pad",
          "tile")
_COPIES = ("negative", "abs", "relu", "clip", "maximum", "minimum", "max", "min", "where", *_MOVES)
_CONTINUOUS = ("add", "subtract", "multiply", "negative", "abs", "relu", "clip", "maximum", "minimum", "where", *_MOVES)
_STEPS = ("round", "floor", "ceil", "trunc", "sign", "mod", "floor_divide", "equal", "not_equal", "less", "less_equal", "greater",
          "greater_equal")
_WHOLE = ("round", "floor", "ceil", "trunc", "size_of")


def divide_by_constant(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """x / c: x * (1 / c), for f32 and f64 and normal numbers; off by at most one bit unless c is a power of two.

    That bit matters where a step follows: 49 * (1 / 49) is less than 1, and its floor 0. So a division stays one where its quotient is
    rounded or compared and the dividend is exact: an input, or whole numbers. A dividend that was rounded in an op before carries such
    errors already."""
    x, c = op.operands
    divisor = None if r.is_constant(x) else r.array(c)
    if divisor is None or numpy_dtype(x.type.element_type) not in (np.float32, np.float64):
        return None
    tiny = np.finfo(divisor.dtype).tiny
    with np.errstate(all="ignore"):
        inverse = 1 / divisor
    if not ((np.abs(inverse) >= tiny) & np.isfinite(inverse) & np.isfinite(divisor)).all():
        return None
    powers_of_two = (np.abs(np.frexp(divisor)[0]) == 0.5).all()
    if not powers_of_two and _meets_step(op.results[0]) and _is_exact(x):
        return None
    return relax.multiply(x, r.constant(inverse, c))


def _meets_step(quotient: ir.Value) -> bool:
    """Whether a value, or what continuous ops make of it, is rounded or compared."""
    seen, found = set(), [quotient]
    while found:
        for use in found.pop().uses:
            user = use.owner
            name = user.name.removeprefix("relax.")
            if name in _STEPS or (name == "astype" and not is_float(user.results[0])):
                return True
            if (name in _CONTINUOUS or name == "astype") and user not in seen:
                seen.add(user)
                found += user.results
    return False


def _is_exact(value: ir.Value) -> bool:
    """Whether elements of a value are those of an argument, or whole numbers, and not rounded results of arithmetic."""
    op = defining_op(value)
    if op is None:
        return True
    name = op.name.removeprefix("relax.")
    if name == "astype":
        return not is_float(op.operands[0]) or _is_exact(op.operands[0])
    return name in _WHOLE or (name in _COPIES and any(map(_is_exact, op.operands)))


PATTERNS = (("divide", divide_by_constant),)

"""Patterns of relax-canonicalize: divisions by constants."""
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.rewriter import GraphRewriter, is_float

_MOVES = ("reshape", "permute_dims", "squeeze", "expand_dims", "broadcast_to", "strided_slice", "tensor.concat", "take", "gather_elements",
          "pad", "tile")
_POOLS = ("max_pool1d", "max_pool2d", "max_pool3d")
_COPIES = ("negative", "abs", "relu", "clip", "maximum", "minimum", "max", "min", "where", *_POOLS, *_MOVES)
_CONTINUOUS = ("add", "subtract", "multiply", "divide", "negative", "abs", "relu", "clip", "maximum", "minimum", "where", *_MOVES)
_STEPS = ("round", "floor", "ceil", "trunc", "sign", "mod", "floor_divide", "equal", "not_equal", "less", "less_equal", "greater",
          "greater_equal")
_WHOLE = ("round", "floor", "ceil", "trunc", "size_of")
_SUMS = ("matmul_integer", "conv2d_integer")


def divide_by_constant(r: GraphRewriter, op: ir.Operation) -> ir.Value | None:
    """x / c: x * (1 / c), for f32 and f64 and normal numbers; off by at most one bit unless c is a power of two.

    That bit matters where a step follows: 49 * (1 / 49) is less than 1, and its floor 0. So a division stays one where its quotient is
    rounded or compared and the dividend is exact: an input, or whole numbers; or such numbers times a constant, divided by one, or beside
    one in a sum: a DequantizeLinear before a QuantizeLinear makes these, where 2 times 0.75 is a tie, and the places of a Resize are such.
    What sums of elements, or functions, rounded carries such errors already."""
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
    if not powers_of_two and _meets_step(op.results[0]) and (_is_exact(x) or _is_scaled(r, x)):
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


def _is_scaled(r: GraphRewriter, value: ir.Value) -> bool:
    """Whether elements of a value are exact ones, but sums of products, times constants, divided by them, or beside them in sums."""
    def scales(op: ir.Operation) -> bool:
        return _is_named(op, ("multiply", "divide", "add", "subtract")) and any(map(r.is_constant, op.operands))

    for source in _sources(value, lambda op: _is_named(op, (*_COPIES, "astype")) or scales(op)):
        op = defining_op(source)
        if op is not None and scales(op) and any(_is_exact(operand) and not _is_sum(operand) for operand in op.operands):
            return True
    return False


def _is_exact(value: ir.Value) -> bool:
    """Whether elements of a value are those of an argument, or whole numbers, and not rounded results of arithmetic."""
    for source in filter(is_float, _sources(value, lambda op: _is_named(op, (*_COPIES, "astype")))):
        op = defining_op(source)
        if op is None or op.name.removeprefix("relax.") in _WHOLE or (op.name == "relax.astype" and not is_float(op.operands[0])):
            return True
    return False


def _is_sum(value: ir.Value) -> bool:
    """Whether elements of a value are sums of products of integers, in another type or with a number added."""
    sources = map(defining_op, _sources(value, lambda op: _is_named(op, ("astype", "add", "subtract", *_MOVES))))
    return any(op is not None and _is_named(op, _SUMS) for op in sources)


def _sources(value: ir.Value, through: Callable[[ir.Operation], bool]) -> Iterator[ir.Value]:
    """The value, and what is before it of such ops."""
    seen, found = {value}, [value]
    while found:
        yield (current := found.pop())
        op = defining_op(current)
        if op is not None and through(op):
            new = [operand for operand in op.operands if operand not in seen]
            seen.update(new)
            found += new


def _is_named(op: ir.Operation, names: Sequence[str]) -> bool:
    return op.name.removeprefix("relax.") in names


PATTERNS = (("divide", divide_by_constant),)

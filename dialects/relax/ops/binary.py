"""Elementwise ops of two operands, broadcast as numpy does."""

import numpy as np

from legato.dialects.relax.attributes import Bool
from legato.dialects.relax.family import define, example
from legato.dialects.relax.op import ANY, BOOL, FLOAT, INTEGER, NUMBER, Operand
from legato.dialects.relax.types import TensorType, broadcast

_ELEMENT = {FLOAT: "f32", NUMBER: "f32", ANY: "f32", INTEGER: "i32", BOOL: "i1"}


def truncating_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Integer division rounded towards zero, as in C and ONNX; division by zero gives 0."""
    quotient = np.floor_divide(a, b)
    return quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def _divide(a, b):
    return np.divide(a, b) if a.dtype.kind not in "iu" else truncating_divide(a, b)


def _power(a, b):
    if a.dtype.kind != "i":
        return np.power(a, b)
    magnitude = np.power(a, np.maximum(b, 0))
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))  # 1 / a ** -b, towards zero
    return np.where(b < 0, inverse, magnitude).astype(a.dtype)


def _mod(a, b, fmod):
    return np.fmod(a, b) if fmod else np.mod(a, b)


def _shift(function):
    def shift(a, b):
        bits = a.dtype.itemsize * 8
        if a.shape[-1:] == (1,) and b.ndim == 1 and 1 < b.size < bits:    # several integers in each: numpy's innermost loop would be short
            return np.stack([shift(a[..., 0], one) for one in b], axis=-1)
        inside = (b >= 0) & (b < bits)
        if inside.all():
            return function(a, b.astype(a.dtype))
        beyond = np.where((a < 0) & (function is np.right_shift), -1, 0).astype(a.dtype)
        return np.where(inside, function(a, np.where(inside, b, 0).astype(a.dtype)), beyond)

    return shift


def _binary(name, summary, compute, kinds=NUMBER, attributes_text="", result=None, **attributes):
    def result_type(a: TensorType, b: TensorType, **_) -> TensorType:
        return TensorType(broadcast(a.dims, b.dims), a.dtype if result is None else np.dtype(result))

    element = _ELEMENT[kinds]
    types = f"tensor<2x3x{element}>, tensor<3x{element}>"
    text = example(name, "%a, %b", attributes_text, types, f"tensor<2x3x{'i1' if result else element}>")
    return define(name, summary, {"a": Operand(kinds), "b": Operand(kinds)}, compute, result_type, text, elementwise=True, **attributes)


_CONTRACT = (" With `contract`, an a of f16 or bf16 that the same kernel computes by products need not be rounded before: an op of a "
             "model, such as a product with its bias, then rounds once.")


def _of_unrounded(function):
    return lambda a, b, contract: function(a, b)


_binary("add", "a + b; integers wrap around." + _CONTRACT, _of_unrounded(np.add), contract=Bool(False))
_binary("subtract", "a - b; integers wrap around.", np.subtract)
_binary("multiply", "a * b; integers wrap around." + _CONTRACT, _of_unrounded(np.multiply), contract=Bool(False))
_binary("divide", "a / b. Integers are divided towards zero; by zero is undefined.", _divide)
_binary("floor_divide", "a / b rounded down. Integers by zero are undefined.", np.floor_divide)
_binary("power", "a to the power b. A negative power of an integer is truncated.", _power)
_binary("maximum", "The greater of a and b; NaN if one is NaN.", np.maximum)
_binary("minimum", "The smaller of a and b; NaN if one is NaN.", np.minimum)
_binary(
    "mod",
    "The remainder of a / b with the sign of b, or, with `fmod`, with the sign of a as C's fmod has it.",
    _mod,
    attributes_text="fmod = true",
    fmod=Bool(False),
)
_binary("equal", "Whether a is b.", np.equal, ANY, result=np.bool_)
_binary("not_equal", "Whether a is not b.", np.not_equal, ANY, result=np.bool_)
_binary("less", "Whether a < b.", np.less, result=np.bool_)
_binary("less_equal", "Whether a <= b.", np.less_equal, result=np.bool_)
_binary("greater", "Whether a > b.", np.greater, result=np.bool_)
_binary("greater_equal", "Whether a >= b.", np.greater_equal, result=np.bool_)
_binary("logical_and", "Whether both are true.", np.logical_and, BOOL)
_binary("logical_or", "Whether one is true.", np.logical_or, BOOL)
_binary("logical_xor", "Whether exactly one is true.", np.logical_xor, BOOL)
_binary("bitwise_and", "Bitwise and.", np.bitwise_and, INTEGER)
_binary("bitwise_or", "Bitwise or.", np.bitwise_or, INTEGER)
_binary("bitwise_xor", "Bitwise exclusive or.", np.bitwise_xor, INTEGER)
_binary("left_shift", "a * 2**b, without overflowing bits; 0 if b is at least a's number of bits.", _shift(np.left_shift), INTEGER)
_binary("right_shift", "a / 2**b rounded down; only sign bits if b is at least a's number of bits.", _shift(np.right_shift), INTEGER)

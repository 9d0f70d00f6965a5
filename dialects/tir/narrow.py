"""Elements of at most 8 bits that are only stored, converted from and to those that are computed in.

Floats are converted by integer arithmetic on their bits, in whole numbers of the narrow type's steps: LLVM has no such types on CPUs, and
subnormal numbers would be lost where the process flushes them to 0.
"""
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.mlir import arith, ir, math

_POWERS = np.dtype(ml_dtypes.float8_e8m0fnu)   # it has neither sign nor mantissa


@dataclass(frozen=True)
class _Format:
    """A narrow float: its bits in all, those of its mantissa, the bias of its exponent, and the codes of what is no finite number.

    ``largest``: of finite numbers; ``beyond``: of what is larger; ``nan``: of NaN. All without the sign, but where NaN is -0 (``fnuz``).
    """

    bits: int
    mantissa: int
    bias: int
    largest: int
    beyond: int
    nan: int

    @property
    def nan_is_negative_zero(self) -> bool:
        """Whether the code of -0 is NaN."""
        return self.nan == self.beyond == 1 << self.bits - 1

    @staticmethod
    def of(dtype: np.dtype) -> "_Format":
        info = ml_dtypes.finfo(dtype)
        code = lambda value: int(np.float32(value).astype(dtype).view(np.uint8))  # noqa: E731
        return _Format(info.bits, info.nmant, 1 - int(info.minexp), code(info.max), code(np.inf), code(np.nan))


def _constant(type_: ir.Type, value: float) -> ir.Value:
    attribute = ir.FloatAttr.get(type_, value) if isinstance(type_, ir.FloatType) else ir.IntegerAttr.get(type_, int(value))
    return arith.ConstantOp(type_, attribute).result


def _compare(predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate[predicate], a, b)


def decode(code: ir.Value, element: ir.Type) -> ir.Value:
    """The number of a code (an i8) of a narrow element type: an f32, or an i32 for integers. Exact; bits above the type's are ignored."""
    i32 = ir.IntegerType.get_signless(32)
    wide = arith.extui(i32, code)
    if isinstance(element, ir.IntegerType):
        left = _constant(i32, 32 - element.width)
        shift_back = arith.shrui if element.is_unsigned else arith.shrsi
        return shift_back(arith.shli(wide, left), left)
    dtype = numpy_dtype(element)
    return _decode_power(wide) if dtype == _POWERS else _decode_float(wide, _Format.of(dtype))


def _decode_float(code: ir.Value, of: _Format) -> ir.Value:
    i32, f32 = code.type, ir.F32Type.get()
    magnitude = arith.andi(code, _constant(i32, (1 << of.bits - 1) - 1))
    placed = arith.shli(magnitude, _constant(i32, 23 - of.mantissa))
    normal = arith.addi(placed, _constant(i32, 127 - of.bias << 23))
    least = 128 - of.bias << 23   # the least normal number; below it, its mantissa counts without the leading one
    above = arith.bitcast(f32, arith.addi(placed, _constant(i32, least)))
    subnormal = arith.bitcast(i32, arith.subf(above, arith.bitcast(f32, _constant(i32, least))))
    result = arith.select(_compare("ult", magnitude, _constant(i32, 1 << of.mantissa)), subnormal, normal)
    nan = _constant(i32, 0x7FC00000)
    if of.beyond not in (of.largest, of.nan):
        result = arith.select(_compare("eq", magnitude, _constant(i32, of.beyond)), _constant(i32, 0x7F800000), result)
        result = arith.select(_compare("ugt", magnitude, _constant(i32, of.beyond)), nan, result)
    elif of.beyond == of.nan and not of.nan_is_negative_zero:
        result = arith.select(_compare("eq", magnitude, _constant(i32, of.nan)), nan, result)
    sign = arith.shli(arith.andi(code, _constant(i32, 1 << of.bits - 1)), _constant(i32, 32 - of.bits))
    result = arith.ori(result, sign)
    if of.nan_is_negative_zero:
        result = arith.select(_compare("eq", code, _constant(i32, of.nan)), nan, result)
    return arith.bitcast(f32, result)


def _decode_power(code: ir.Value) -> ir.Value:
    """Powers of two from 2**-127: the exponent of an f32, but for the first, which is subnormal, and the last, NaN."""
    i32 = code.type
    result = arith.shli(code, _constant(i32, 23))
    result = arith.select(_compare("eq", code, _constant(i32, 0)), _constant(i32, 1 << 22), result)
    result = arith.select(_compare("eq", code, _constant(i32, 255)), _constant(i32, 0x7FC00000), result)
    return arith.bitcast(ir.F32Type.get(), result)


def encode(value: ir.Value, element: ir.Type) -> ir.Value:
    """The code (an i8) of a narrow element type for an f32, or for an i32 if the type has integers.

    Floats are rounded once, halves to even; numbers beyond the greatest become what ml_dtypes makes of them (infinity, NaN, or the
    greatest). Integers wrap.
    """
    i8 = ir.IntegerType.get_signless(8)
    if isinstance(element, ir.IntegerType):
        return arith.trunci(i8, arith.andi(value, _constant(value.type, (1 << element.width) - 1)))
    dtype = numpy_dtype(element)
    code = _encode_power(value) if dtype == _POWERS else _encode_float(value, _Format.of(dtype))
    return arith.trunci(i8, code)


def _encode_float(value: ir.Value, of: _Format) -> ir.Value:
    i32, f32 = ir.IntegerType.get_signless(32), ir.F32Type.get()
    bits, magnitude = arith.bitcast(i32, value), arith.bitcast(i32, math.absf(value))
    # halves to even: add half a step less one, and one more where the step's number is odd
    shift = 23 - of.mantissa
    odd = arith.andi(arith.shrui(magnitude, _constant(i32, shift)), _constant(i32, 1))
    rounded = arith.addi(magnitude, arith.addi(_constant(i32, (1 << shift - 1) - 1), odd))
    normal = arith.subi(arith.shrui(rounded, _constant(i32, shift)), _constant(i32, 127 - of.bias << of.mantissa))
    # below the least normal number, adding a number with the step of the narrow type rounds to that step
    steps = _constant(f32, 2.0 ** (1 - of.bias - of.mantissa + 23))
    subnormal = arith.subi(arith.bitcast(i32, arith.addf(math.absf(value), steps)), arith.bitcast(i32, steps))
    code = arith.select(_compare("ult", magnitude, _constant(i32, 128 - of.bias << 23)), subnormal, normal)
    code = arith.select(_compare("sgt", code, _constant(i32, of.largest)), _constant(i32, of.beyond), code)
    signed = arith.ori(code, arith.shli(arith.shrui(bits, _constant(i32, 31)), _constant(i32, of.bits - 1)))
    if of.nan_is_negative_zero:  # 0 has no sign
        signed = arith.select(_compare("eq", code, _constant(i32, 0)), code, signed)
    return arith.select(arith.cmpf(arith.CmpFPredicate.UNO, value, value), _constant(i32, of.nan), signed)


def _encode_power(value: ir.Value) -> ir.Value:
    """The nearest power of two, halves up; NaN for what is not above 0, or too large."""
    i32 = ir.IntegerType.get_signless(32)
    bits, half = arith.bitcast(i32, value), 1 << 22
    normal = arith.shrui(arith.addi(bits, _constant(i32, half)), _constant(i32, 23))
    # an f32 below 2**-126 is subnormal, and rounds up from 1.5 * 2**-127 on
    subnormal = arith.shrui(arith.addi(bits, _constant(i32, half >> 1)), _constant(i32, 23))
    exponent = arith.select(_compare("ult", bits, _constant(i32, 1 << 23)), subnormal, normal)
    code = arith.select(_compare("ugt", exponent, _constant(i32, 254)), _constant(i32, 255), exponent)
    above_zero = arith.cmpf(arith.CmpFPredicate.OGT, value, _constant(value.type, 0.0))
    return arith.select(above_zero, code, _constant(i32, 255))

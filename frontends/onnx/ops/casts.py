"""Conversions to other element types: Cast, CastLike and BitCast."""
import ml_dtypes
import numpy as np

from legato.core.dtypes import convert_array, kind
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.types import TensorType
from legato.frontends.onnx.entry import op
from legato.frontends.onnx.problems import Malformed
from legato.frontends.onnx.tensors import dtype_of

_POWERS = np.dtype(ml_dtypes.float8_e8m0fnu)
# numbers beyond the greatest of these saturate if asked to; of other narrow floats they always do, and integers wrap
_SATURATED = {np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")}
_F32, _U32 = np.dtype(np.float32), np.dtype(np.uint32)


def converted(x: ir.Value, target: np.dtype, saturate: bool) -> ir.Value:
    """x in another element type; with ``saturate``, numbers beyond an 8-bit float's greatest become that."""
    source = TensorType.of(x.type).dtype
    if source == target:
        return x
    if saturate and target in _SATURATED and source != np.bool_:
        if kind(source) == "narrow":
            x = relax.astype(x, dtype=_F32)
        limit = float(ml_dtypes.finfo(target).max)
        x = relax.clip(x, min=-limit, max=limit)
    return relax.astype(x, dtype=target)


def _power_of_two(x: ir.Value, saturate: bool, rounding: str) -> ir.Value:
    """The exponent of each number as float8_e8m0fnu; the sign is dropped. Infinity is NaN, as in onnx's reference."""
    def number(value: int) -> ir.Value:
        return relax.constant(np.array(value, _U32))

    x = x if TensorType.of(x.type).dtype == _F32 else relax.astype(x, dtype=_F32)
    bits = relax.bitwise_and(relax.bitcast(x, dtype=_U32), number(0x7FFFFFFF))
    added = {"up": number(0x7FFFFF), "down": number(0)}.get(rounding)
    if added is None:  # of a subnormal number, a half is rounded down
        added = relax.where(relax.less(bits, number(1 << 23)), number((1 << 22) - 1), number(1 << 22))
    code = relax.right_shift(relax.add(bits, added), number(23))
    if saturate:
        code = relax.minimum(code, number(254))
    code = relax.where(relax.greater_equal(bits, number(0x7F800000)), number(255), code)
    return relax.bitcast(relax.astype(code, dtype=np.uint8), dtype=_POWERS)


def _convert(node, target: np.dtype):
    """The first input converted to an element type; unchanged if it has that type."""
    node.widen(0)
    source, saturate = node.dtype(), node.flag("saturate", True) if node.version >= 19 else True
    rounding = node.text("round_mode", "up", "down", "nearest") if node.version >= 24 else "up"
    if source == target:
        return node.value(0)
    known = node.value(0).known()
    if known is not None and known.dtype != object and kind(target) != "narrow":
        return convert_array(known, target)
    if known is not None and kind(target) in ("int", "uint"):
        return node.elements(known, target)
    x = node.x()
    if target == _POWERS:
        return _power_of_two(x, saturate, rounding)
    if kind(target) == "bool" and kind(source) != "narrow":
        return relax.not_equal(x, node.literal(0, source))
    return converted(x, target, saturate)


@op("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(node):
    """Cast."""
    return _convert(node, dtype_of(node.integer("to")))


@op("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(node):
    """CastLike."""
    return _convert(node, node.dtype(1))


@op("BitCast", 26)
def bit_cast(node):
    """BitCast, between element types of one width."""
    target, source = dtype_of(node.integer("to")), node.dtype()
    if _bits(source) != _bits(target):
        raise Malformed(f"{source} has {_bits(source)} bits and {target} {_bits(target)}: it takes types of one width")
    known = node.value(0).known()
    if known is not None and known.dtype != object:
        return known.view(target)
    return node.value(0) if source == target else relax.bitcast(node.x(), dtype=target)


def _bits(dtype: np.dtype) -> int:
    if kind(dtype) != "narrow":
        return dtype.itemsize * 8
    return (ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo)(dtype).bits


ENTRIES = (cast, cast_like, bit_cast)

"""Patterns of quantized models, whose imports write ONNX's QuantizeLinear and DequantizeLinear as arithmetic."""
from legato.analysis.patterns.language import Pattern, is_const, is_op


def dequantize(x: Pattern, name: str) -> Pattern:
    """``(x - zero point) * scale`` in f32, of integers: ONNX's DequantizeLinear. Scale and zero point are constants, of the whole tensor or
    along one axis, and a match has them as ``match[f"{name}_scale"]`` and, if the model has one, ``match[f"{name}_zero"]``. Others may read
    the result, too."""
    difference = is_op("relax.subtract")(is_op("relax.astype")(x), is_op("relax.astype")(_given(f"{name}_zero")))
    return is_op("relax.multiply")(is_op("relax.astype")(difference | x), _given(f"{name}_scale")).has_dtype("f32").shared()


def quantize(x: Pattern, name: str) -> Pattern:
    """``round(x / scale) + zero point``, clipped to the range of the integers: ONNX's QuantizeLinear of f32. Scale and zero point are named
    as those of ``dequantize``; ``has_dtype`` says which integers."""
    rounded = is_op("relax.round")(is_op("relax.divide")(x, _given(f"{name}_scale")))
    moved = is_op("relax.add")(rounded, is_op("relax.astype")(_given(f"{name}_zero")))
    return is_op("relax.astype")(is_op("relax.clip")(moved | rounded))


def _given(label: str) -> Pattern:
    """A constant under this name, also where it is shaped to be broadcast."""
    constant = is_const().named(label)
    return is_op("relax.expand_dims", "relax.reshape")(constant) | constant

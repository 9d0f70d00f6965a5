"""Values that are rounded to integers of a scale, in terms of other ops: to limits that QuantizeLinear does not have; and as torch.compile
leaves them."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
LIMITS_OF_ONNX = ((0, 127), (0, 255), (-128, 127))   # which stay QuantizeLinear and DequantizeLinear


def _per_tensor(x: Any, scale: Any, zero_point: Any, least: int, most: int) -> tuple[Any, Any]:
    """By one scale and zero point, numbers or tensors of one element."""
    scale, zero_point = (value if isinstance(value, torch.Tensor) else torch.full((), value, dtype=kind)
                         for value, kind in ((scale, torch.float32), (zero_point, torch.int32)))
    return _rounded(x, scale.reshape(()), zero_point.reshape(()), least, most)


def _switched(x: Any, scale: Any, zero_point: Any, is_on: Any, least: int, most: int) -> tuple[Any, Any]:
    """By a scale and zero point, or not at all."""
    values, mask = _per_tensor(x, scale, zero_point, least, most)
    return torch.where(is_on.reshape(()) == 1, values, x), mask | (is_on.reshape(()) != 1)


def _per_channel(x: Any, scale: Any, zero_point: Any, axis: int, least: int, most: int) -> tuple[Any, Any]:
    """By a scale and a zero point for each place along an axis."""
    shape = [-1 if place == axis % x.ndim else 1 for place in range(x.ndim)]
    return _rounded(x, scale.view(shape), zero_point.view(shape), least, most)


def _rounded(x: Any, scale: Any, zero_point: Any, least: int, most: int) -> tuple[Any, Any]:
    """The values, and which of them are within the limits. As torch's kernel has it: it multiplies by the scale's reciprocal, and rounds
    before it adds the zero point."""
    zero_point = zero_point.to(scale.dtype)
    places = torch.round(x * scale.reciprocal()) + zero_point
    return ((places.clamp(least, most) - zero_point) * scale).to(x.dtype), (places >= least) & (places <= most)


def _values(of: Any) -> Any:
    """The op that gives the values alone, unless the exporter has it."""
    def values(x: Any, *given: Any) -> Any:
        return NotImplemented if given[-2:] in LIMITS_OF_ONNX else of(x, *given)[0]

    return values


QUANTIZATION = {
    aten.fake_quantize_per_tensor_affine.default: _values(_per_tensor),
    aten.fake_quantize_per_tensor_affine.tensor_qparams: _values(_per_tensor),
    aten.fake_quantize_per_channel_affine.default: _values(_per_channel),
    aten.fake_quantize_per_tensor_affine_cachemask.default: _per_tensor,
    aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _switched,
    aten.fake_quantize_per_channel_affine_cachemask.default: _per_channel,
}

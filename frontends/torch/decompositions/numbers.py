"""Ops of a tensor and numbers that the exporter writes for some kinds of numbers only: bounds of which one is a float and the other is
none, and sizes, which only a call knows."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _clamp(x: Any, least: Any = None, most: Any = None) -> Any:
    """Bounds of two kinds, as torch promotes them."""
    if least is None or most is None or type(least) is type(most):
        return NotImplemented
    dtype = torch.result_type(torch.empty((), dtype=torch.result_type(x, least)), most) if not x.is_floating_point() else x.dtype
    return torch.clamp(x.to(dtype), *(torch.full((), value, dtype=dtype) for value in (least, most)))


def _of_a_size(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """``op`` of two tensors in the place of that of a tensor and a size, or a number computed from sizes."""
    def of_a_size(x: Any, size: Any) -> Any:
        if not isinstance(size, (torch.SymInt, torch.SymFloat)):
            return NotImplemented
        dtype = _promoted(x, size)
        return op(x.to(dtype) if isinstance(size, torch.SymFloat) else x, torch.full((), size, dtype=dtype))

    return of_a_size


def _of_integers(op: Callable[..., Any]) -> Callable[..., Any]:
    """``op`` of integers and a number computed from sizes as of floats; the exporter takes it for a known number."""
    def of_integers(x: Any, number: Any, **options: Any) -> Any:
        if not isinstance(number, torch.SymFloat) or not isinstance(x, torch.Tensor) or x.is_floating_point() or x.is_complex():
            return NotImplemented
        return op(x.to(torch.get_default_dtype()), number, **options)

    return of_integers


def _promoted(x: torch.Tensor, size: Any) -> torch.dtype:
    """The type of a tensor and a size, or a number computed from sizes."""
    return torch.result_type(x, 1 if isinstance(size, torch.SymInt) else 1.0)


NUMBERS = {
    aten.clamp.default: _clamp,
    aten.remainder.Scalar: _of_a_size(torch.remainder),
    aten.pow.Tensor_Scalar: _of_a_size(torch.pow),
    aten.mul.Tensor: _of_integers(torch.mul),
    aten.sub.Tensor: _of_integers(torch.sub),
    aten.bitwise_and.Scalar: _of_a_size(torch.bitwise_and),
    aten.bitwise_or.Scalar: _of_a_size(torch.bitwise_or),
    aten.bitwise_xor.Scalar: _of_a_size(torch.bitwise_xor),
}

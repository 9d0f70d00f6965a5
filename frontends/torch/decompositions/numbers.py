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
    """``op`` of two tensors in the place of that of a tensor and a size."""
    def of_a_size(x: Any, size: Any) -> Any:
        if not isinstance(size, torch.SymInt):
            return NotImplemented
        return op(x, torch.full((), size, dtype=torch.result_type(x, 1)))

    return of_a_size


NUMBERS = {
    aten.clamp.default: _clamp,
    aten.remainder.Scalar: _of_a_size(torch.remainder),
    aten.pow.Tensor_Scalar: _of_a_size(torch.pow),
    aten.bitwise_and.Scalar: _of_a_size(torch.bitwise_and),
    aten.bitwise_or.Scalar: _of_a_size(torch.bitwise_or),
    aten.bitwise_xor.Scalar: _of_a_size(torch.bitwise_xor),
}

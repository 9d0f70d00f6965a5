"""Division with remainder, which the exporter writes by a rounded quotient: `1.0 // 0.1` would be 10, and its remainder negative; and of
integers in f32, which has 24 bits."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten


def _floats(*operands: Any) -> bool:
    return any(value.is_floating_point() if isinstance(value, torch.Tensor) else isinstance(value, (float, torch.SymFloat))
               for value in operands)


def _promoted(x: Any, y: Any) -> tuple[Any, Any]:
    """Both as tensors of the type of the result."""
    dtype = torch.result_type(x, y)
    return tuple(value.to(dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=dtype) for value in (x, y))


def _divided(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Division; of floats, rounded down; of integers, rounded."""
    if rounding_mode is None or _floats(x, y):
        return _floor_divided(x, y) if rounding_mode == "floor" else NotImplemented
    x, y = _promoted(x, y)
    return aten.floor_divide.default(x if rounding_mode == "floor" else x - torch.fmod(x, y), y)


def _floor_divided(x: Any, y: Any) -> Any:
    """Quotients of floats rounded down, by the exact remainder."""
    if not _floats(x, y):
        return NotImplemented
    x, y = _promoted(x, y)
    rest = torch.fmod(x, y)
    quotient = (x - rest) / y
    quotient = torch.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    down = quotient.floor()
    down = torch.where(quotient - down > 0.5, down + 1, down)
    plain = x / y
    return torch.where(y == 0, plain, torch.where(quotient == 0, torch.where(plain < 0, -0.0, 0.0).to(plain.dtype), down))


def _remainder(x: Any, y: Any) -> Any:
    """Remainders of floats with the sign of the divisor."""
    if not _floats(x, y):
        return NotImplemented
    x, y = _promoted(x, y)
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


DIVISION = {
    **dict.fromkeys((aten.div.Tensor_mode, aten.div.Scalar_mode), _divided),
    **dict.fromkeys((aten.floor_divide.default, aten.floor_divide.Scalar), _floor_divided),
    **dict.fromkeys((aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor), _remainder),
}

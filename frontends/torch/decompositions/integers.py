"""Arithmetic of integers and flags that ONNX has of other types only, or that the exporter takes for another."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

aten, prims = torch.ops.aten, torch.ops.prims
GCD_STEPS = {1: 13, 2: 24, 4: 47, 8: 93}     # by the bytes of the type


def _add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """The sum of flags: whether one of them is set."""
    flags = all(isinstance(operand, torch.Tensor) and operand.dtype == torch.bool for operand in (x, y))
    return torch.logical_or(x, y) if flags and alpha == 1 else NotImplemented


def _pow(x: Any, exponent: Any) -> Any:
    """Integers to the power of a float are floats, which the exporter says but does not write."""
    if x.is_floating_point() or x.is_complex() or not isinstance(exponent, float):
        return NotImplemented
    return torch.pow(x.to(torch.get_default_dtype()), exponent)


def _shifted(shift: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A shift of unsigned bytes, which the exporter shifts as signed ones, or by a symbolic size, which it takes for a known number."""
    def shifted(x: Any, count: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return NotImplemented
        if isinstance(count, torch.SymInt):
            count = torch.scalar_tensor(count, dtype=x.dtype)
            return shift(x, count)
        if x.dtype != torch.uint8:
            return NotImplemented
        if isinstance(count, torch.Tensor):
            if count.dtype != torch.uint8:
                return NotImplemented
            count = count.to(torch.int32)
        return shift(x.to(torch.int32), count).to(torch.uint8)

    return shifted


def _gcd(x: Any, y: Any) -> Any:
    """Greatest common divisors by Euclid's algorithm, whose steps the size of the type bounds: those of two Fibonacci numbers."""
    x, y = (value.abs() for value in torch.broadcast_tensors(x, y))
    for _ in range(GCD_STEPS[x.dtype.itemsize]):
        done = y == 0
        x, y = torch.where(done, x, y), torch.where(done, 0, torch.fmod(x, torch.where(done, 1, y)))
    return x


def _isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether integers or flags are about the same: torch compares them as floats, its exporter cuts tolerances to integers."""
    if any(value.is_floating_point() or value.is_complex() for value in (x, y)):
        return NotImplemented
    if rtol == atol == 0:
        return x == y
    a, b = (value.to(torch.get_default_dtype()) for value in (x, y))
    return (x == y) | ((a - b).abs() <= atol + (rtol * b).abs())


INTEGERS = {
    aten.isclose.default: _isclose,
    **dict.fromkeys((aten.gcd.default, prims.gcd.default), _gcd),
    aten.add.Tensor: _add,
    aten.pow.Tensor_Scalar: _pow,
    **dict.fromkeys((aten.bitwise_left_shift.Tensor, aten.bitwise_left_shift.Tensor_Scalar, aten.__lshift__.Tensor,
                     aten.__lshift__.Scalar), _shifted(torch.bitwise_left_shift)),
    **dict.fromkeys((aten.bitwise_right_shift.Tensor, aten.bitwise_right_shift.Tensor_Scalar, aten.__rshift__.Tensor,
                     aten.__rshift__.Scalar), _shifted(torch.bitwise_right_shift)),
}

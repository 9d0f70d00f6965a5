"""Operators of Python on symbolic sizes that torch's ONNX exporter takes for those of tensors: shifts, and masks of powers of two; the
numbers that they are made, and divided to, which it takes for floats of 32 bits; and roots, rounding and numbers of elements, which it
lacks."""
import operator
from collections.abc import Callable
from typing import Any

Translation = Callable[..., Any]
_DOUBLE, _INT64 = 11, 7     # of onnx.TensorProto


def size_operators() -> dict[Callable[..., Any], Translation]:
    """What each operator is in ONNX, for ``torch.onnx.export(custom_translation_table=...)``. Sizes are not negative, so that quotients
    are rounded down, as those that the exporter writes for ``//``."""
    import torch  # pyright: ignore[reportMissingImports]
    from onnxscript import opset18 as op  # pyright: ignore[reportMissingImports]

    def power(count: Any) -> Any:
        """2 ** count: the factor of a shift. Beyond 62 no size holds it."""
        if not isinstance(count, int):
            return op.Pow(op.Constant(value_int=2), count)
        if 0 <= count < 63:
            return 1 << count
        raise NotImplementedError(f"sizes are shifted by 0 to 62, not by {count}")

    def shifted_right(size: Any, count: Any) -> Any:
        return op.Div(size, power(count))

    def shifted_left(size: Any, count: Any) -> Any:
        return op.Mul(size, power(count))

    def masked(one: Any, other: Any) -> Any:
        """A conjunction of conditions; of a size, what is below a power of two, or the rest."""
        size, mask = (other, one) if isinstance(one, int) else (one, other)
        if not isinstance(mask, int):
            return op.And(one, other)
        if mask >= 0 and mask & (mask + 1) == 0:
            return op.Mod(size, mask + 1)
        if mask < 0 and mask & (-mask - 1) == 0:
            return op.Mul(op.Div(size, -mask), -mask)
        raise NotImplementedError(f"size & {mask}: only masks of a power of two, such as 63 and ~63, are supported")

    def number(size: Any) -> Any:
        """A size as a number of Python, which has 64 bits: 100 * 0.57 is 57 in 32, and less than that in 64."""
        return op.Cast(size, to=_DOUBLE)

    def quotient(one: Any, other: Any) -> Any:
        return op.Div(number(one), number(other))

    def root(size: Any) -> Any:
        return op.Sqrt(number(size))

    def rounded(value: Any, digits: int | None = None) -> Any:
        """The nearest whole number, to even ones between two; or the nearest of as many digits, by a product as in torch's own code."""
        if digits is None:
            return op.Cast(op.Round(number(value)), to=_INT64)
        power = number(op.Constant(value_int=10 ** abs(digits)))
        before, after = (op.Mul, op.Div) if digits >= 0 else (op.Div, op.Mul)
        return after(op.Round(before(number(value), power)), power)

    def elements(x: Any) -> Any:
        return op.Size(x)

    return {operator.rshift: shifted_right, operator.lshift: shifted_left, operator.and_: masked, torch.sym_float: number,
            operator.truediv: quotient, torch.sym_sqrt: root, round: rounded,
            torch.ops.aten.sym_numel.default: elements}


"""f16 and bf16 where the steps of an op are not rounded: computed in f32."""
from collections.abc import Callable
from typing import Any

import numpy as np

from legato.core.halves import is_half
from legato.core.mlir import ir
from legato.dialects import relax


def wide(x: ir.Value) -> ir.Value:
    """A value of f16 or bf16 in f32, others as they are."""
    return relax.astype(x, dtype=np.dtype(np.float32)) if is_half(x.type) else x


def in_32_bits(build: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
    """``build(x, ...)`` for an x of f16 or bf16 as ``build`` of x in f32, and of other values of such types, rounded to x's type; as it is
    for others."""

    def widened(given: Any) -> Any:
        return wide(given) if isinstance(given, ir.Value) else given

    def built(x: ir.Value, *args, **options) -> ir.Value:
        if not is_half(x.type):
            return build(x, *args, **options)
        return relax.astype(build(wide(x), *map(widened, args), **options), dtype=relax.TensorType.of(x.type).dtype)

    return built


def plus(x: ir.Value, y: ir.Value) -> ir.Value:
    """x + y, where x is what the same op of the model computes by products: f16 and bf16 are rounded once, after it."""
    return relax.add(x, y, contract=is_half(x.type))


def times(x: ir.Value, y: ir.Value) -> ir.Value:
    """x * y; as for ``plus``."""
    return relax.multiply(x, y, contract=is_half(x.type))

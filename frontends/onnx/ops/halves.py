"""f16 and bf16 where the steps of an op may overflow and its result does not: computed in f32."""
from collections.abc import Callable

import numpy as np

from legato.core.dtypes import kind
from legato.core.mlir import ir
from legato.dialects import relax


def in_32_bits(build: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
    """``build(x, ...)`` for an x of f16 or bf16 as ``build`` of x in f32, rounded to x's type; as it is for others."""

    def built(x: ir.Value, *args, **options) -> ir.Value:
        dtype = relax.TensorType.of(x.type).dtype
        if kind(dtype) != "float" or dtype.itemsize != 2:
            return build(x, *args, **options)
        return relax.astype(build(relax.astype(x, dtype=np.dtype(np.float32)), *args, **options), dtype=dtype)

    return built

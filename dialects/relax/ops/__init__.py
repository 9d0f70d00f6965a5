"""The ops of relax, one file per family. Importing this package declares them all."""
from legato.dialects.relax.ops import (  # noqa: F401
    arange,
    binary,
    col2im,
    conv,
    count,
    detection,
    float8,
    gather,
    integers,
    matmul,
    norm,
    pool,
    quantized,
    random,
    reduce,
    reshape,
    select,
    slice,
    space,
    unary,
)
from legato.dialects.relax.ops.concat import Concat

__all__ = ["Concat"]

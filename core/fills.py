"""Builds linalg's fill and copy; the bindings' own functions import the descriptions of all named ops (core/named_ops.py)."""
from collections.abc import Callable
from typing import Any

from legato.core.mlir import ir, linalg


def fill(scalar: ir.Value, out: ir.Value) -> Any:
    """``linalg.fill`` of a tensor, as its result, or of a buffer, as the op."""
    return _built(linalg.FillOp, scalar, out, {})


def copy(source: ir.Value, out: ir.Value) -> Any:
    """``linalg.copy`` to a tensor, as its result, or to a buffer, as the op."""
    return _built(linalg.CopyOp, source, out, {"cast": ir.Attribute.parse("#linalg.type_fn<cast_signed>")})


def _built(kind: Callable[..., ir.OpView], source: ir.Value, out: ir.Value, options: dict[str, ir.Attribute]) -> Any:
    on_tensors = isinstance(out.type, ir.RankedTensorType)
    op = kind([out.type] if on_tensors else [], [source], [out], **options).operation
    linalg.fill_builtin_region(op)
    return op.results[0] if on_tensors else op

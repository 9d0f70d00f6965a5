"""Functions that ONNX lacks, and that its own would compute with loss, as ops of Legato's domain."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.onnx.ops.own import DOMAIN

aten, prims = torch.ops.aten, torch.ops.prims


def _own(op_type: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if not x.dtype.is_floating_point:
            x = x.to(torch.get_default_dtype())
        return torch.onnx.ops.symbolic(f"{DOMAIN}::{op_type}", (x,), dtype=x.dtype, shape=x.shape, version=1)

    return function


def _trunc(x: Any) -> Any:
    """Rounding towards zero; integers are what they are."""
    return _own("Trunc")(x) if x.is_floating_point() else x.clone()


OWN = {
    aten.erfc.default: _own("Erfc"),
    **dict.fromkeys((aten.erfinv.default, prims.erf_inv.default), _own("Erfinv")),
    aten.expm1.default: _own("Expm1"),
    aten.lgamma.default: _own("Lgamma"),
    aten.log10.default: _own("Log10"),
    aten.log2.default: _own("Log2"),
    aten.log1p.default: _own("Log1p"),
    aten.trunc.default: _trunc,
}

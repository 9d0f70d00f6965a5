"""Activations, of which the exporter computes some in floats of 32 bits, or as they overflow."""
from collections.abc import Callable
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

from legato.frontends.torch.decompositions.halves import HALVES
from legato.frontends.torch.decompositions.special import in_floats

aten = torch.ops.aten
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _celu(x: Any, alpha: float = 1.0) -> Any:
    """celu of doubles."""
    return torch.where(x > 0, x, alpha * (x / alpha).expm1()) if x.dtype == torch.float64 else NotImplemented


def _selu(x: Any) -> Any:
    """selu of doubles."""
    return torch.where(x > 0, SELU_SCALE * x, SELU_SCALE * SELU_ALPHA * x.expm1()) if x.dtype == torch.float64 else NotImplemented


@in_floats
def _log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), where the sigmoid is 0 or 1, too."""
    return x.clamp(max=0) - (-x.abs()).exp().log1p()


def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """softplus of halves, in floats: the exporter rounds beta x."""
    if x.dtype not in HALVES:
        return NotImplemented
    return torch.nn.functional.softplus(x.to(torch.float32), beta, threshold).to(x.dtype)


def _of_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """A softmax of another type, which is that of its operand before, not after."""
    def softmax(x: Any, axis: int, dtype: Any = None) -> Any:
        return NotImplemented if dtype in (None, x.dtype) else function(x.to(dtype), axis)

    return softmax


ACTIVATIONS = {
    aten.celu.default: _celu,
    aten.selu.default: _selu,
    aten.log_sigmoid.default: _log_sigmoid,
    aten.softplus.default: _softplus,
    aten.softmax.int: _of_type(torch.softmax),
    aten.log_softmax.int: _of_type(torch.log_softmax),
}

"""Losses of which ONNX has a part only."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.nn import functional  # pyright: ignore[reportMissingImports]

aten = torch.ops.aten
_KINDS = ("none", "mean", "sum")      # by torch's number


def _cross_entropy(x: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
                   label_smoothing: float = 0.0) -> Any:
    """The loss of one sample without a batch, of probabilities as targets, and of smoothed ones, which the exporter takes for plain
    ones."""
    probable = target.is_floating_point()
    if x.ndim > 1 and not label_smoothing and not probable:
        return NotImplemented
    axis = 1 if x.ndim > 1 else 0
    classes, logs = x.shape[axis], torch.log_softmax(x, axis)
    weighted = logs if weight is None else logs * weight.reshape(-1, *[1] * (x.ndim - axis - 1))
    if probable:
        target = target * (1 - label_smoothing) + label_smoothing / classes
        return _reduced(-(weighted * target).sum(axis), reduction, x.numel() / classes)
    plain = functional.nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=_KINDS[reduction])
    if not label_smoothing:
        return plain
    counts = target != ignore_index
    each = torch.where(counts, -weighted.sum(axis), 0)
    share = counts.to(x.dtype) if weight is None else torch.where(counts, weight[torch.where(counts, target, 0)], 0)
    return (1 - label_smoothing) * plain + _reduced(each, reduction, share.sum()) * (label_smoothing / classes)


def _reduced(losses: Any, reduction: int, count: Any) -> Any:
    """The losses, their mean over ``count``, or their sum."""
    if _KINDS[reduction] == "none":
        return losses
    return losses.sum() / count if _KINDS[reduction] == "mean" else losses.sum()


LOSSES = {aten.cross_entropy_loss.default: _cross_entropy}

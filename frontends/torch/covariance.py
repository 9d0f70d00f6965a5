"""``torch.cov`` and ``torch.corrcoef``, whose kernels look at the data of weights and sizes, so that torch cannot export them."""
from typing import Any

import torch  # pyright: ignore[reportMissingImports]


def covariance(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """[variables, variables] of x: [variables, observations]; a number of one variable. Weights that are negative are not refused."""
    x = x if x.ndim == 2 else x.reshape(1, -1)
    given = [weights for weights in (fweights, aweights) if weights is not None]
    weights = given[0] * given[-1] if len(given) == 2 else given[0] if given else None
    count = x.shape[1] if weights is None else weights.sum()
    x = x - ((x if weights is None else x * weights).sum(1) / count)[:, None]
    products = x @ (x if weights is None else x * weights).t().conj()
    if weights is None:
        return (products / torch.sym_max(count - correction, 0)).squeeze()
    lost = (weights * aweights).sum() / count if aweights is not None and correction else 1
    return (products / (count - correction * lost).clamp(min=0)).squeeze()

"""Random numbers that torch's exporter lacks or draws otherwise, in terms of uniform and normal ones."""
from collections.abc import Callable, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.fx.experimental.symbolic_shapes import guard_or_false  # pyright: ignore[reportMissingImports]

aten, prims = torch.ops.aten, torch.ops.prims

BITS = 16       # of an integer that a uniform float gives exactly
FEW = 1 << BITS
LEAST = torch.finfo(torch.float32).tiny


def _integers(low: Any, high: Any, size: Sequence[Any]) -> Any:
    """int64 from ``low`` to below ``high``: the rest of random bits, 16 more than the range has, or all 63."""
    bits = torch.zeros(size, dtype=torch.int64)
    for _ in range(2 if guard_or_false(high - low <= FEW) else 4):
        bits = bits * FEW + (torch.rand(size) * FEW).to(torch.int64)
    return (bits & torch.iinfo(torch.int64).max) % (high - low) + low


def _without_generator(draw: Callable[..., Any]) -> Callable[..., Any]:
    """The overload with a generator, which is drawn without it."""
    def drawn(given: Any, *, dtype: Any = None, **_: Any) -> Any:
        return draw(given, dtype=dtype)

    return drawn


def _randint(high: Any, size: Sequence[Any], *, dtype: Any = torch.int64, **_: Any) -> Any:
    return _integers(0, high, size).to(dtype)


def _randint_from(low: Any, high: Any, size: Sequence[Any], *, dtype: Any = torch.int64, **_: Any) -> Any:
    return _integers(low, high, size).to(dtype)


def _randint_like(x: Any, high: Any, *, dtype: Any = None, **_: Any) -> Any:
    return _integers(0, high, x.shape).to(dtype or x.dtype)


def _randint_like_from(x: Any, low: Any, high: Any, *, dtype: Any = None, **_: Any) -> Any:
    return _integers(low, high, x.shape).to(dtype or x.dtype)


def _random_to(x: Any, to: int, **_: Any) -> Any:
    return _integers(0, to, x.shape).to(x.dtype)


def _random_from(x: Any, low: int, to: int | None, **_: Any) -> Any:
    return NotImplemented if to is None else _integers(low, to, x.shape).to(x.dtype)


def _uniform(x: Any, low: float = 0.0, high: float = 1.0, **_: Any) -> Any:
    return torch.rand_like(x) * (high - low) + low


def _prims_uniform(shape: Sequence[Any], *, low: float, high: float, dtype: Any, **_: Any) -> Any:
    return torch.rand(shape, dtype=dtype) * (high - low) + low


def _normal_of_deviations(mean: float, std: Any, **_: Any) -> Any:
    """The exporter takes the deviations for means."""
    return torch.randn_like(std) * std + mean


def _multinomial(weights: Any, count: Any, replacement: bool = False, **_: Any) -> Any:
    """Without replacement, as in torch: the greatest of the weights over numbers of the exponential distribution. The exporter draws the
    same class several times."""
    if replacement or guard_or_false(count == 1):
        return NotImplemented
    drawn = (-torch.log1p(-torch.rand_like(weights, dtype=torch.float32))).clamp(min=LEAST)
    return (weights.to(torch.float32).log() - drawn.log()).topk(count, dim=-1).indices


def _randperm(n: Any, *, dtype: Any = torch.int64, **_: Any) -> Any:
    return _integers(0, torch.iinfo(torch.int64).max, (n,)).argsort().to(dtype)


def _rrelu(x: Any, noise: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any, **__: Any) -> tuple[Any, Any]:
    """Negative elements times numbers between two slopes; at inference times their mean."""
    if not training:
        return torch.where(x < 0, x * ((lower + upper) / 2), x), noise
    slopes = torch.where(x <= 0, _uniform(x, lower, upper), 1)
    return x * slopes, slopes


RANDOM = {
    **{getattr(aten, draw.__name__).generator: _without_generator(draw)
       for draw in (torch.rand, torch.randn, torch.rand_like, torch.randn_like) if "generator" in getattr(aten, draw.__name__).overloads()},
    **dict.fromkeys((aten.randint.default, aten.randint.generator), _randint),
    **dict.fromkeys((aten.randint.low, aten.randint.low_generator), _randint_from),
    **dict.fromkeys((aten.randint_like.default, aten.randint_like.generator), _randint_like),
    **dict.fromkeys((aten.randint_like.low_dtype, aten.randint_like.low_generator_dtype), _randint_like_from),
    aten.random.to: _random_to,
    getattr(aten.random, "from"): _random_from,
    aten.uniform.default: _uniform,
    prims.uniform.default: _prims_uniform,
    aten.normal.float_Tensor: _normal_of_deviations,
    aten.multinomial.default: _multinomial,
    **dict.fromkeys((aten.randperm.default, aten.randperm.generator), _randperm),
    aten.rrelu_with_noise_functional.default: _rrelu,
}

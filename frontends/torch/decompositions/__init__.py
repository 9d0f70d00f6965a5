"""Ops that torch's ONNX exporter lacks, or takes for others, in terms of others."""
from collections.abc import Callable, Mapping
from typing import Any

from legato.frontends.torch.decompositions.activations import ACTIVATIONS
from legato.frontends.torch.decompositions.aliases import ALIASES
from legato.frontends.torch.decompositions.bags import BAGS
from legato.frontends.torch.decompositions.bessel import BESSEL
from legato.frontends.torch.decompositions.complex_numbers import COMPLEX
from legato.frontends.torch.decompositions.division import DIVISION
from legato.frontends.torch.decompositions.elementwise import ELEMENTWISE
from legato.frontends.torch.decompositions.empty import EMPTY
from legato.frontends.torch.decompositions.experts import EXPERTS, of_transformers
from legato.frontends.torch.decompositions.exponentials import EXPONENTIALS
from legato.frontends.torch.decompositions.flags import FLAGS
from legato.frontends.torch.decompositions.halves import WIDENED
from legato.frontends.torch.decompositions.integers import INTEGERS
from legato.frontends.torch.decompositions.layers import LAYERS
from legato.frontends.torch.decompositions.losses import LOSSES
from legato.frontends.torch.decompositions.matrices import MATRICES
from legato.frontends.torch.decompositions.numbers import NUMBERS
from legato.frontends.torch.decompositions.order import ORDER
from legato.frontends.torch.decompositions.own import OWN
from legato.frontends.torch.decompositions.padding import PADDING
from legato.frontends.torch.decompositions.placing import PLACING
from legato.frontends.torch.decompositions.pools import POOLS
from legato.frontends.torch.decompositions.products import PRODUCTS
from legato.frontends.torch.decompositions.quantization import QUANTIZATION
from legato.frontends.torch.decompositions.random import RANDOM
from legato.frontends.torch.decompositions.recurrent import RECURRENT
from legato.frontends.torch.decompositions.reductions import REDUCTIONS
from legato.frontends.torch.decompositions.repeats import REPEATS
from legato.frontends.torch.decompositions.resizing import RESIZING
from legato.frontends.torch.decompositions.sampling import SAMPLING
from legato.frontends.torch.decompositions.scans import SCANS
from legato.frontends.torch.decompositions.special import SPECIAL
from legato.frontends.torch.decompositions.whole_images import AVERAGES, CONVOLUTIONS
from legato.frontends.torch.decompositions.zeta import ZETA

Decompositions = Mapping[Any, Callable[..., Any]]


def decompositions() -> dict[Any, Callable[..., Any]]:
    """All of them by op, those of ops that other packages have defined so far included."""
    return joined(FLAGS, WIDENED, AVERAGES, COMPLEX, NUMBERS, EMPTY, {
        **ACTIVATIONS, **ALIASES, **BAGS, **BESSEL, **CONVOLUTIONS, **DIVISION, **ELEMENTWISE, **EXPERTS, **EXPONENTIALS,
        **INTEGERS, **LAYERS, **LOSSES, **MATRICES, **ORDER, **OWN, **PADDING, **PLACING, **POOLS, **PRODUCTS, **QUANTIZATION,
        **RANDOM, **RECURRENT, **REDUCTIONS, **REPEATS, **RESIZING, **SAMPLING, **SCANS, **SPECIAL, **ZETA, **of_transformers()})


def joined(*tables: Decompositions) -> dict[Any, Callable[..., Any]]:
    """The decompositions of several tables; an op that is in some is tried by the first ones first."""
    found: dict[Any, Callable[..., Any]] = {}
    for table in reversed(tables):
        found |= {op: _first(how, found[op]) if op in found else how for op, how in table.items()}
    return found


def _first(one: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    def either(*arguments: Any, **options: Any) -> Any:
        made = one(*arguments, **options)
        return other(*arguments, **options) if made is NotImplemented else made

    return either

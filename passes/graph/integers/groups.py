"""Which quantized convolutions in groups are sums of integers on CPUs, by loops on windows (``tir-direct-convolutions``)."""
from collections.abc import Sequence
from math import prod

from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax import dims
from legato.passes.graph.windows import MOST_TAPS

LANE = 32               # bits, whose products an instruction sums
COPIED, REUSED = 8, 4   # neighbouring channels, and features, of a group, from which on copies of volumes cost less than they save


def takes_groups(shape: Sequence[int], groups: int, bits: int, machine: CpuMachine) -> bool:
    """Whether instructions sum whole lanes of a group's channels. ``shape``: of the filters, [features, channels of a group, taps...];
    ``bits``: of the integers."""
    features, channels, *taps = shape
    if not machine.has("sse4.1"):
        return False
    if len(taps) == 3:      # taps along the depth become channels, by copies of as many neighbours as a group has
        if channels < COPIED or features // groups < REUSED:
            return False
        channels, taps = channels * taps[0], taps[1:]
    lane = LANE // bits
    if channels < lane or prod(taps) == 1 or taps[-1] > MOST_TAPS:
        return False
    # without an instruction for it, bytes of several groups in a vector are shuffled by many
    return bits > 8 or machine.has("avx512vbmi") or channels % lane == 0 or features // groups > machine.lanes(LANE) // 2


def by_groups(images: ir.Value, taps: int, groups: int) -> ir.Value:
    """Images whose last axis has the channels of all groups, once for each of ``taps``, with all taps of a group together."""
    if groups == 1 or taps == 1:
        return images
    sizes = list(dims.dims(images.type))
    split = relax.reshape(images, [*sizes[:3], taps, groups, sizes[3] // (taps * groups)])
    return relax.reshape(relax.permute_dims(split, [0, 1, 2, 4, 3, 5]), sizes)

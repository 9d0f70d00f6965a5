"""Normalizations over an image's positions, of single channels or of groups, built of ops that take any layout.

A channel is summed by itself first, so that vectors of neighbouring channels need not be divided; the sums of a group's channels are few.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op, only_use
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import permutation_of
from legato.passes.graph.layout import layout
from legato.passes.graph.layout.layout import Perm


@dataclass(frozen=True)
class ReshapedNorm:
    """An instance_norm of groups of channels between reshapes, of an image that was permuted for it: exporters write a group_norm so."""

    op: ir.Operation
    image: ir.Value
    """The image before it was permuted."""
    perm: Perm
    """Its layout."""
    groups: int
    channels: int

    @classmethod
    def of(cls, last: ir.Operation) -> ReshapedNorm | None:
        """What ends in this reshape; None for another one."""
        op = defining_op(last.operands[0]) if only_use(last.operands[0]) is not None else None
        split = None if op is None or op.name != "relax.instance_norm" else defining_op(op.operands[0])
        permuted = None if split is None or split.name != "relax.reshape" else defining_op(split.operands[0])
        if op is None or split is None or permuted is None or permuted.name != "relax.permute_dims":
            return None
        sizes, grouped = dims(split.operands[0].type), dims(op.operands[0].type)
        perm, groups = layout.invert(permutation_of(permuted)), grouped[1]
        if dims(last.results[0].type) != sizes or grouped[0] != sizes[0] or not takes_layout(perm, sizes, groups):
            return None
        return cls(op, permuted.operands[0], perm, groups, sizes[1])

    def build(self) -> ir.Value:
        """The result, in the image's layout."""
        each = self.channels // self.groups
        with self.op.location:
            parameters = [value if each == 1 else relax.reshape(relax.broadcast_to(relax.expand_dims(value, [1]), [self.groups, each]),
                                                                [self.channels]) for value in list(self.op.operands)[1:]]
            return normalized(self.image, self.perm, self.groups, parameters, relax.attributes_of(self.op)["epsilon"])


def takes_layout(perm: Perm, sizes: Sequence, groups: Any) -> bool:
    """Whether an image of such sizes has its channels last, in a known number of groups."""
    known = isinstance(sizes[1], int) and isinstance(groups, int) and groups > 0 and UNKNOWN not in sizes
    return known and perm[0] == 0 and perm[-1] == 1 and len(perm) > 2 and sizes[1] % groups == 0


def normalized(tensor: ir.Value, perm: Perm, groups: int, parameters: Sequence[ir.Value], epsilon: float) -> ir.Value:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, in f32 for f16 and bf16."""
    dtype = numpy_dtype(tensor.type.element_type)
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    x, gamma, beta = (value if dtype == wide else relax.astype(value, wide.name) for value in (tensor, *parameters))
    positions = [axis for axis in range(len(perm)) if perm[axis] > 1]

    def mean(value: ir.Value) -> ir.Value:
        """Of a group, for each of its channels."""
        of_channels = relax.mean(value, axis=positions, keepdims=True)
        batch, *_, channels = shape = dims(of_channels.type)
        if groups == channels:
            return of_channels
        grouped = relax.mean(relax.reshape(of_channels, [batch, groups, channels // groups]), axis=[2], keepdims=True)
        return relax.reshape(relax.broadcast_to(grouped, [batch, groups, channels // groups]), shape)

    center = mean(x)
    squares = mean(relax.square(relax.subtract(center, x)))    # not x - center, which is of the whole image and would be kept
    scale = relax.multiply(relax.rsqrt(relax.add(squares, relax.constant(np.array(epsilon, wide)))), gamma)
    result = relax.add(relax.multiply(relax.subtract(x, center), scale), beta)
    return result if dtype == wide else relax.astype(result, dtype.name)

"""Normalizations over an image's positions, of single channels or of groups, built of ops that take any layout.

A channel is summed by itself first, so that vectors of neighbouring channels need not be divided; the sums of a group's channels are few.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from legato.core.dtypes import numpy_dtype
from legato.core.ir_helpers import defining_op, only_use
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import UNKNOWN, dims
from legato.passes.graph.functions import permutation_of
from legato.passes.graph.layout import layout
from legato.passes.graph.layout.layout import Perm

if TYPE_CHECKING:
    from legato.passes.graph.layout.convert_layout import Converter


def group_norm(converter: Converter, op: ir.Operation) -> bool:
    """group_norm and instance_norm of images, in the held layout."""
    if not converter.norms:
        return False
    x, gamma, beta = op.operands
    tensor, perm = converter.held(x)
    attrs, sizes = relax.attributes_of(op), dims(x.type)
    groups = attrs.get("num_groups", sizes[1])
    if not _are_held(perm, sizes, groups):
        return False
    parameters = [converter.plain(value) for value in (gamma, beta)]
    converter.hold(op.results[0], _normalized(tensor, perm, groups, parameters, attrs["epsilon"]), perm)
    return True


def reshaped_instance_norm(converter: Converter, op: ir.Operation) -> bool:
    """A reshape after an instance_norm of groups of channels, which a reshape made of a permuted image: exporters write a group_norm so."""
    norm = defining_op(op.operands[0]) if converter.norms and only_use(op.operands[0]) is not None else None
    split = None if norm is None or norm.name != "relax.instance_norm" else defining_op(norm.operands[0])
    image = None if split is None or split.name != "relax.reshape" else defining_op(split.operands[0])
    if norm is None or split is None or image is None or image.name != "relax.permute_dims":
        return False
    sizes, grouped = dims(split.operands[0].type), dims(norm.operands[0].type)
    perm, groups = layout.invert(permutation_of(image)), grouped[1]
    if dims(op.results[0].type) != sizes or grouped[0] != sizes[0] or not _are_held(perm, sizes, groups):
        return False
    each = sizes[1] // groups
    parameters = [value if each == 1 else relax.reshape(relax.broadcast_to(relax.expand_dims(value, [1]), [groups, each]), [sizes[1]])
                  for value in list(norm.operands)[1:]]
    with norm.location:
        made = _normalized(image.operands[0], perm, groups, parameters, relax.attributes_of(norm)["epsilon"])
    converter.hold(op.results[0], made, perm)
    return True


def _are_held(perm: Perm, sizes: Sequence, groups: int) -> bool:
    """Whether an image is held with its channels last, and in how many groups they are is known."""
    known = isinstance(sizes[1], int) and isinstance(groups, int) and UNKNOWN not in sizes
    return known and perm[0] == 0 and perm[-1] == 1 and len(perm) > 2 and sizes[1] % groups == 0


def _normalized(tensor: ir.Value, perm: Perm, groups: int, parameters: Sequence[ir.Value], epsilon: float) -> ir.Value:
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

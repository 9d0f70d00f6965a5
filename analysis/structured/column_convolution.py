"""The form of a kernel with one convolution of channels-first images of f32, dense or depthwise, of one to three dimensions, and
elementwise ops on its result.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from legato.analysis.structured.convolution import starts_at_zero, unpadded
from legato.analysis.structured.elements import Index, Term
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.maps import coefficients, dim_positions
from legato.analysis.structured.ops import StructuredOp
from legato.analysis.structured.pool import MOST_STRIDE, TERMS
from legato.analysis.structured.window import WindowAxis, axes_of
from legato.core.mlir import ir

MOST_TAPS = 16          # of a window's row, which are written out
LANES = 16              # of vectors that loops over columns are compared with loops over channels for
USED = 9                # of these, from which on permutes cost more than the lanes that are not used,
WINDOW = 25             # beside windows in which an element of the image takes part, where they are no more than these; of larger windows
USED_LARGE = 12         # from which on they do
BODY = ["arith.mulf", "arith.addf", "linalg.yield"]


@dataclass(frozen=True)
class ColumnConvolutionForm(Epilogue):
    """A convolution of images of known sizes, zeros around them, of few features or depthwise. The terms of indices are ``n`` (images),
    ``c`` (features), ``d``, ``h`` and ``w`` (positions of the result)."""

    kernel: KernelOps
    heart: StructuredOp
    source: ir.Value
    """The images without padding, [n, channels, height, width], or of another number of spatial dimensions."""
    axes: tuple[WindowAxis, ...]
    """The windows along the spatial dimensions, that of the columns last."""
    filter_terms: tuple[int, ...]
    """What the dimensions of the filter are: 0 for features, 1 for channels, 2 and more for the taps of a spatial dimension."""

    @classmethod
    def of(cls, kernel: KernelOps) -> ColumnConvolutionForm | None:
        """The form of a kernel; None for another one."""
        found = [op for op in kernel.structured if op.maps and not op.parallel]
        heart = found[0] if len(found) == 1 and len(kernel.ops[-1].operands) == 1 else None
        if heart is None or len(heart.inputs) != 2 or heart.body_names != BODY or heart.summed_product is None:
            return None
        f32 = ir.F32Type.get()
        if any(value.type.element_type != f32 for value in heart.op.operands) or not starts_at_zero(heart.op):
            return None
        image, filters = heart.inputs
        padded = unpadded(image, before=2, inner=0) if image.type.rank in TERMS else None
        windows = window_of(heart)
        if padded is None or windows is None or not filters.type.has_static_shape:
            return None
        taps = [filters.type.shape[windows.filter_terms.index(2 + axis)] for axis in range(len(windows.strides))]
        sizes, counts = (list(value.type.shape)[2:] for value in (padded[0], heart.op.results[0]))
        axes = axes_of(sizes, counts, taps, padded[1], windows.strides, windows.dilations)
        if axes is None or padded[0].type.shape[1] < 0:
            return None
        form = cls(kernel, heart, padded[0], axes, windows.filter_terms)
        own = 0 if form.is_depthwise else form.channels
        return form if gains_by_columns(form.features, own, axes, alone=True) and form.is_traceable([form.source, form.filter]) else None

    @property
    def terms(self) -> Index:
        """The terms of an element of the result."""
        return TERMS[self.result.type.rank]

    @property
    def filter(self) -> ir.Value:
        """The filter, whose dimensions are ``filter_terms``."""
        return self.heart.op.operands[1]

    @property
    def result(self) -> ir.Value:
        """The convolution's result, of which the epilogue makes the kernel's."""
        return self.heart.op.results[0]

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has a filter of its own."""
        return 1 not in self.filter_terms

    @property
    def features(self) -> int:
        """The number of features."""
        return self.result.type.shape[1]

    @property
    def channels(self) -> int:
        """The number of channels that a feature is computed from."""
        return 1 if self.is_depthwise else self.source.type.shape[1]

    @property
    def groups(self) -> int:
        """The parts of the features that have channels of their own: all of a depthwise convolution, else 1."""
        return self.features if self.is_depthwise else 1


def gains_by_columns(features: int, channels: int, axes: Sequence[WindowAxis], alone: bool) -> bool:
    """Whether vectors of columns are faster than those of features, or of the channels of a depthwise convolution. ``channels``: of a
    feature, 0 for a depthwise one; ``axes``: the windows along the spatial dimensions; ``alone``: whether images and results would have
    to be permuted for this convolution only."""
    columns = axes[-1]
    if columns.stride > MOST_STRIDE or columns.taps > MOST_TAPS or min(axis.count for axis in axes) < 1:
        return False
    used = _lanes_used(columns.count)
    if not channels:
        window, steps = (prod(sizes) for sizes in zip(*((axis.taps, axis.stride) for axis in axes)))
        if alone and used >= (USED if window <= WINDOW else USED_LARGE) and window <= WINDOW * steps:
            return True
        halves = features >= LANES or features.bit_count() == 1     # channels in whole vectors, or in a part that is one, too
        return not halves or used > 1.1 * _lanes_used(features)
    few = features <= channels and all(axis.taps == 1 for axis in axes)     # a product of matrices
    return not few and 3 * used >= 4 * features and (channels < LANES or features >= 4)


def _lanes_used(count: int) -> float:
    """The lanes that are used of the vectors of so many elements, on average."""
    return count / -(-count // LANES)


@dataclass(frozen=True)
class ChannelsFirstWindow:
    """The strides and dilations of a convolution along its spatial dimensions, and ``filter_terms`` of its form."""

    strides: Sequence[int]
    dilations: Sequence[int]
    filter_terms: tuple[int, ...]


def window_of(op: StructuredOp) -> ChannelsFirstWindow | None:
    """How a channels-first convolution, dense or depthwise, reads; None for an op that reads otherwise."""
    out, rank = op.out_loops, len(op.maps[-1].results)
    if rank not in TERMS or None in out or len(set(out)) < rank or len(op.maps[0].results) != rank:
        return None
    loops: dict[int | None, Term] = {out[1]: 0}
    steps: list[tuple[int, int]] = []
    for axis, expression in enumerate(list(op.maps[0].results)[2:]):
        factors, along = coefficients(expression) or {}, out[2 + axis]
        tap = [loop for loop in factors if loop != along]
        if along is None or len(factors) != 2 or len(tap) != 1 or tap[0] in out:
            return None
        loops[tap[0]] = 2 + axis
        steps.append((factors[along], factors[tap[0]]))
    image, channel = dim_positions(op.maps[0])[:2]
    if image != out[0] or channel is None:
        return None
    if channel not in out:
        loops[channel] = 1
    elif channel != out[1]:
        return None
    found = [loops.get(loop) for loop in dim_positions(op.maps[1])]
    if sorted(term for term in found if isinstance(term, int)) != sorted({*loops.values()}) or len(loops) != len(found):
        return None
    if len(op.iterator_types) != rank + len(loops) - 1:
        return None
    terms = tuple(term for term in found if isinstance(term, int))
    return ChannelsFirstWindow([stride for stride, _ in steps], [dilation for _, dilation in steps], terms)

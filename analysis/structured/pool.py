"""The form of a kernel with one maximum or average pool of images of one to three dimensions, and elementwise ops on its result."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured.convolution import start_of, unpadded
from legato.analysis.structured.elements import Index
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.maps import coefficients, dim_positions
from legato.analysis.structured.ops import StructuredOp
from legato.analysis.structured.window import WindowAxis, axes_of
from legato.core.mlir import ir

TERMS: dict[int, Index] = {3: ("n", "c", "w"), 4: ("n", "c", "h", "w"), 5: ("n", "c", "d", "h", "w")}
LAST: dict[int, Index] = {3: ("n", "w", "f"), 4: ("n", "h", "w", "f"), 5: ("n", "d", "h", "w", "f")}     # where channels are last
MOST_STRIDE = 4         # of columns: every s-th column is taken by s - 1 shuffles of vectors
MOST_WORDS = 8          # the same of elements of 32 bits
# with what changes nothing, None for the least number of the type
COMBINERS: dict[str, float | None] = {"arith.maximumf": float("-inf"), "arith.addf": 0.0, "arith.maxui": 0, "arith.maxsi": None}


@dataclass(frozen=True)
class PoolForm(Epilogue):
    """A pool: the maximum of each window, or of floats the sum, of images with a border of what changes nothing. In channels-first images
    vectors of columns take few steps. The terms of indices are ``n`` (images), ``c`` (channels, or
    ``f`` where they are last), ``d``, ``h`` and ``w`` (positions of the result)."""

    with_sizes: ClassVar[bool] = True     # of averages
    kernel: KernelOps
    heart: StructuredOp
    source: ir.Value
    """The images without padding, [n, channels, height, width], or of another number of spatial dimensions, or with channels last."""
    axes: tuple[WindowAxis, ...]
    """The windows along the spatial dimensions, that of the columns last."""
    channels_last: bool = False

    @classmethod
    def of(cls, kernel: KernelOps, channels_last: bool = False) -> PoolForm | None:
        """The form of a kernel of channels-first images, or of ``channels_last`` ones; None for another one. The images' number and sizes
        need not be known, and are negative then."""
        found = [op for op in kernel.structured if op.maps and not op.parallel]
        heart = found[0] if len(found) == 1 and len(kernel.ops[-1].operands) == 1 else None
        if heart is None or len(heart.inputs) != 2 or heart.combiner not in COMBINERS or not is_pool(heart):
            return None
        neutral = neutral_of(heart.combiner, heart.op.results[0].type.element_type)
        inner = 1 if channels_last else 0
        padded = unpadded(heart.op.operands[0], before=2 - inner, inner=inner, number=neutral, ends_known=False)
        steps = window_steps(heart, channels_last)
        if padded is None or steps is None or start_of(heart.op) != neutral:
            return None
        spatial = slice(1, -1) if channels_last else slice(2, None)
        sizes, counts = (list(value.type.shape)[spatial] for value in (padded[0], heart.op.results[0]))
        taps = list(heart.op.operands[1].type.shape)
        most = [(count - 1) * dilation for count, dilation in zip(taps, steps[1])]     # that windows reach out of an image
        ends = [end if end >= 0 else reach for end, reach in zip(padded[2], most)]
        axes = axes_of(sizes, counts, taps, padded[1], *steps, ends)
        if axes is None or not (channels_last or is_quick(axes[-1].stride, axes[-1].dilation, heart.op.results[0].type.element_type)):
            return None
        form = cls(kernel, heart, padded[0], axes, channels_last)
        return form if form.channels >= 0 and form.is_traceable([form.source]) else None

    @property
    def terms(self) -> Index:
        """The terms of an element of the result."""
        return (LAST if self.channels_last else TERMS)[self.result.type.rank]

    @property
    def combiner(self) -> str:
        """The op that combines elements, one of ``COMBINERS``."""
        return self.heart.combiner or ""

    @property
    def neutral(self) -> float:
        """What changes nothing, where it is combined with an element."""
        return neutral_of(self.combiner, self.result.type.element_type)

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.source.type.shape[-1 if self.channels_last else 1]

    @property
    def result(self) -> ir.Value:
        """The pool's result, of which the epilogue makes the kernel's."""
        return self.heart.op.results[0]


def steps_far(stride: int, element: ir.Type) -> bool:
    """Whether neighbouring windows are too far apart for shuffles that take a column of each. Vectors along a window are combined then.
    ``stride``: the columns between them."""
    is_narrow = isinstance(element, ir.IntegerType) and element.width < 32      # floats are combined as f32
    return stride > (MOST_STRIDE if is_narrow else MOST_WORDS)


def is_quick(stride: int, dilation: int, element: ir.Type) -> bool:
    """Whether vectors of columns take few steps, by what is between neighbouring windows of a row, and between their taps."""
    return not steps_far(stride, element) or (dilation == 1 and not isinstance(element, ir.IntegerType))


def neutral_of(combiner: str, element: ir.Type) -> float:
    """What changes nothing, where it is combined with elements of a type."""
    neutral = COMBINERS[combiner]
    return -(1 << ir.IntegerType(element).width - 1) if neutral is None else neutral


def is_pool(op: StructuredOp) -> bool:
    """Whether an op combines the elements of windows, of f32, halves or integers of up to 32 bits, and reads a second input for its shape
    only."""
    element, span, _ = op.scalars
    types, names = {element.type, op.op.results[0].type.element_type}, op.body_names
    if list(span.uses):
        return False
    if names == [op.combiner, "linalg.yield"] and len(types) == 1 and isinstance(element.type, ir.IntegerType):
        return 8 <= element.type.width <= 32
    floats = types <= {ir.F32Type.get(), ir.F16Type.get(), ir.BF16Type.get()}
    return floats and names in ([op.combiner, "linalg.yield"], ["arith.extf", op.combiner, "linalg.yield"])


def window_steps(op: StructuredOp, channels_last: bool = False) -> tuple[list[int], list[int]] | None:
    """The strides and dilations of a pool along its spatial dimensions; None for an op that reads other elements, or another layout."""
    rank, spatial, first = len(op.maps[-1].results), len(op.maps[-1].results) - 2, 1 if channels_last else 2
    taps, others = list(range(rank, rank + spatial)), [0, rank - 1 if channels_last else 1]
    if rank not in TERMS or op.out_loops != list(range(rank)) or dim_positions(op.maps[1]) != taps:
        return None
    if [op.loops_of(0)[axis] for axis in others] != others:
        return None
    found = [coefficients(expression) for expression in list(op.maps[0].results)[first:first + spatial]]
    if any(one is None or one.keys() != {first + i, rank + i} for i, one in enumerate(found)):
        return None
    return [one[first + i] for i, one in enumerate(found) if one], [one[rank + i] for i, one in enumerate(found) if one]

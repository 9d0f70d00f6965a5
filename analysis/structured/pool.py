"""The form of a kernel with one maximum or average pool of channels-first images of one to three dimensions, and elementwise ops on its
result.
"""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.convolution import start_of, unpadded
from legato.analysis.structured.elements import Index
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.maps import coefficients, dim_positions
from legato.analysis.structured.ops import StructuredOp
from legato.analysis.structured.window import WindowAxis, axes_of
from legato.core.mlir import ir

TERMS: dict[int, Index] = {3: ("n", "c", "w"), 4: ("n", "c", "h", "w"), 5: ("n", "c", "d", "h", "w")}
MOST_STRIDE = 4         # of columns: every s-th column is taken by s - 1 shuffles of vectors
MOST_WORDS = 8          # the same of elements of 32 bits
# with what changes nothing, None for the least number of the type
COMBINERS: dict[str, float | None] = {"arith.maximumf": float("-inf"), "arith.addf": 0.0, "arith.maxui": 0, "arith.maxsi": None}


@dataclass(frozen=True)
class PoolForm(Epilogue):
    """A pool: the maximum of each window, or of floats the sum, of images of known sizes with a border of what changes nothing, in which
    vectors of columns take few steps. The terms of indices are ``n`` (images), ``c`` (channels), ``d``, ``h`` and ``w`` (positions of the
    result)."""

    kernel: KernelOps
    heart: StructuredOp
    source: ir.Value
    """The images without padding, [n, channels, height, width], or of another number of spatial dimensions."""
    axes: tuple[WindowAxis, ...]
    """The windows along the spatial dimensions, that of the columns last."""

    @classmethod
    def of(cls, kernel: KernelOps) -> PoolForm | None:
        """The form of a kernel; None for another one."""
        found = [op for op in kernel.structured if op.maps and not op.parallel]
        heart = found[0] if len(found) == 1 and len(kernel.ops[-1].operands) == 1 else None
        if heart is None or len(heart.inputs) != 2 or heart.combiner not in COMBINERS or not is_pool(heart):
            return None
        neutral = neutral_of(heart.combiner, heart.op.results[0].type.element_type)
        padded = unpadded(heart.op.operands[0], before=2, inner=0, number=neutral)
        steps = window_steps(heart)
        if padded is None or steps is None or start_of(heart.op) != neutral:
            return None
        sizes, counts = (list(value.type.shape)[2:] for value in (padded[0], heart.op.results[0]))
        axes = axes_of(sizes, counts, list(heart.op.operands[1].type.shape), padded[1], *steps)
        if axes is None or padded[0].type.shape[1] < 0 or not is_quick(axes[-1], heart.op.results[0].type.element_type):
            return None
        form = cls(kernel, heart, padded[0], axes)
        return form if form.is_traceable([form.source]) else None

    @property
    def terms(self) -> Index:
        """The terms of an element of the result."""
        return TERMS[self.result.type.rank]

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
        return self.source.type.shape[1]

    @property
    def result(self) -> ir.Value:
        """The pool's result, of which the epilogue makes the kernel's."""
        return self.heart.op.results[0]


def steps_far(columns: WindowAxis, element: ir.Type) -> bool:
    """Whether neighbouring windows are too far apart for shuffles that take a column of each. Vectors along a window are combined then."""
    is_narrow = isinstance(element, ir.IntegerType) and element.width < 32      # floats are combined as f32
    return columns.stride > (MOST_STRIDE if is_narrow else MOST_WORDS)


def is_quick(columns: WindowAxis, element: ir.Type) -> bool:
    """Whether vectors of columns take few steps: ``columns`` are the windows along a row."""
    return not steps_far(columns, element) or (columns.dilation == 1 and not isinstance(element, ir.IntegerType))


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


def window_steps(op: StructuredOp) -> tuple[list[int], list[int]] | None:
    """The strides and dilations of a pool along its spatial dimensions; None for an op that reads other elements, or another layout."""
    rank, spatial = len(op.maps[-1].results), len(op.maps[-1].results) - 2
    taps = list(range(rank, rank + spatial))
    if rank not in TERMS or op.out_loops != list(range(rank)) or dim_positions(op.maps[1]) != taps or op.loops_of(0)[:2] != [0, 1]:
        return None
    found = [coefficients(expression) for expression in list(op.maps[0].results)[2:]]
    if any(one is None or one.keys() != {2 + i, rank + i} for i, one in enumerate(found)):
        return None
    return [one[2 + i] for i, one in enumerate(found) if one], [one[rank + i] for i, one in enumerate(found) if one]

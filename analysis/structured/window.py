"""The form of a kernel with one pooling or depthwise convolution: its fill, pad and reader, and its windows along both spatial axes."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.maps import is_identity
from legato.analysis.structured.ops import WINDOW, WINDOW_OPS, StructuredOp
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir


@dataclass(frozen=True)
class WindowAxis:
    """One spatial axis: sizes of input and output, padding at the beginning, stride, dilation, number of taps, and padding at the end,
    which is used only where sizes are not known."""

    size: int
    count: int
    begin: int
    stride: int
    dilation: int
    taps: int
    end: int = 0

    def inside(self) -> tuple[int, int]:
        """The range [first, end) of positions whose windows lie inside of the input."""
        first = -(-self.begin // self.stride)
        last = (self.size + self.begin - (self.taps - 1) * self.dilation - 1) // self.stride + 1
        first = min(max(first, 0), self.count)
        return first, min(max(last, first), self.count)

    def reads(self, start: int, end: int) -> tuple[int, int, int, int]:
        """What positions [start, end) read: the range [first, end) of the input, and the padding before and after it."""
        low = start * self.stride - self.begin
        high = (end - 1) * self.stride - self.begin + (self.taps - 1) * self.dilation + 1
        return max(low, 0), min(high, self.size), max(-low, 0), max(high - self.size, 0)


def steps_of(op: ir.Operation, name: str) -> list[int]:
    """The ``strides`` or ``dilations`` of a window op or a convolution, which are 1 where they are not written."""
    spatial = op.results[0].type.rank - 2
    return [int(step) for step in op.attributes[name]] if name in op.attributes else [1] * spatial


def axes_of(sizes: Sequence[int], counts: Sequence[int], taps: Sequence[int], begins: Sequence[int], strides: Sequence[int],
            dilations: Sequence[int], ends: Sequence[int] | None = None) -> tuple[WindowAxis, ...] | None:
    """The spatial axes, of which each has its size, the result's, and so on. None where a size is not known, unless ``ends`` are given:
    then only taps have to be, and other sizes are negative."""
    if any(size < 0 for size in (*taps, *((*sizes, *counts) if ends is None else ()))):
        return None
    ends = [0] * len(taps) if ends is None else ends
    return tuple(WindowAxis(*one) for one in zip(sizes, counts, begins, strides, dilations, taps, ends, strict=True))


def are_known(axes: Sequence[WindowAxis]) -> bool:
    """Whether the sizes of the input and of the output are known along all axes."""
    return all(min(axis.size, axis.count) >= 0 for axis in axes)


@dataclass(frozen=True)
class WindowForm:
    """A kernel's window op and the ops around it.

    ``fill``: initializes the result; ``pad``: pads the input (None: ``source`` is read itself); ``reader``: the elementwise reader of the
    result (None: the kernel returns the result).
    """

    heart: StructuredOp
    fill: ir.Operation
    pad: ir.Operation | None
    reader: StructuredOp | None
    source: ir.Value
    axes: tuple[WindowAxis, WindowAxis]

    @classmethod
    def of(cls, kernel: KernelOps) -> WindowForm | None:
        """The form of a kernel; None for other kernels and dynamic spatial sizes."""
        heart, returns = kernel.heart, kernel.ops[-1]
        if heart is None or heart.kind != WINDOW or heart.op.name not in WINDOW_OPS or len(returns.operands) != 1:
            return None
        result = heart.op.results[0]
        fill, pad, readers = defining_op(heart.op.operands[2]), defining_op(heart.op.operands[0]), list(result.uses)
        if fill is None or fill.name != "linalg.fill" or len(readers) != 1:
            return None
        pad = pad if pad is not None and pad.name == "tensor.pad" else None
        reader = None
        if readers[0].owner.operation != returns:
            reader = kernel.op(readers[0].owner.operation)
            if reader is None or not _follows(reader, result) or reader.op.results[0] != returns.operands[0]:
                return None
        source = heart.op.operands[0] if pad is None else pad.operands[0]
        axes = _axes(heart.op, pad, source)
        return None if axes is None else cls(heart, fill, pad, reader, source, axes)

    @property
    def op(self) -> ir.Operation:
        """The window op."""
        return self.heart.op


def _follows(reader: StructuredOp, value: ir.Value) -> bool:
    """Whether an op is elementwise on ``value`` and its output, both with identity maps."""
    if not reader.is_pointwise or len(reader.op.results) != 1 or not reader.plain or "linalg.index" in reader.body_names:
        return False
    read = [m for v, m in zip(reader.op.operands, reader.maps) if v == value]
    return len(read) == 1 and is_identity(read[0]) and is_identity(reader.maps[-1]) and value.type.shape == reader.op.results[0].type.shape


def _axes(window: ir.Operation, pad: ir.Operation | None, source: ir.Value) -> tuple[WindowAxis, WindowAxis] | None:
    """The two spatial axes; None where there is one, a size is dynamic, or the padding is negative, not spatial or not one value."""
    if source.type.rank != 4:
        return None
    begins = [0, 0]
    if pad is not None:
        low, high = list(pad.attributes["static_low"]), list(pad.attributes["static_high"])
        block = pad.regions[0].blocks[0]
        value = block.operations[0].operands[0] if len(list(block.operations)) == 1 else None
        plain = min([*low, *high]) >= 0 and not any(low[i] or high[i] for i in (0, 3))
        if value is None or value.owner == block or not plain:
            return None
        begins = low[1:3]
    strides, dilations = steps_of(window, "strides"), steps_of(window, "dilations")
    sizes, counts, taps = source.type.shape[1:3], window.results[0].type.shape[1:3], window.operands[1].type.shape[:2]
    axes = axes_of(sizes, counts, taps, begins, strides, dilations)
    return None if axes is None else (axes[0], axes[1])

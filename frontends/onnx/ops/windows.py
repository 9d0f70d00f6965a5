"""Kernels, strides and paddings of convolutions and pools."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.relax.dims import Size, ceil_divide, floor_divide, maximum
from legato.frontends.onnx import run_time
from legato.frontends.onnx.problems import Malformed, Refused


@dataclass(frozen=True)
class Shift:
    """SAME_* padding of an axis of symbolic size: the windows begin at ``begin`` of the padded axis, and reach over ``length`` elements."""

    begin: Size
    length: Size


@dataclass(frozen=True)
class Window:
    """A sliding window over the spatial axes; ``padding`` has the begins, then the ends."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    padding: list[int]
    shifts: tuple[Shift | None, ...] = ()

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)


def read_window(node, kernel: Sequence[Size] | None) -> Window:
    """The window that a node's attributes describe, with auto_pad resolved.

    ``kernel``: the spatial sizes of a convolution's weight; None for a pool, which has them as an attribute.
    """
    sizes = list(node.dims()[2:])
    named = node.integers("kernel_shape") if kernel is None else check_kernel(node, kernel)
    rank = len(named)
    if rank != len(sizes):
        raise Malformed(f"its kernel {named} does not fit an input of rank {node.rank()}")
    if not 1 <= rank <= 3:
        raise Refused(f"{rank} spatial axes are not supported, only 1 to 3")
    strides, dilations = read_steps(node, "strides", rank), read_steps(node, "dilations", rank)
    shifts: list[Shift | None] = [None] * rank
    padding = auto_padding(node, sizes, named, strides, dilations, shifts)
    return Window(named, strides, dilations, padding, tuple(shifts))


def shifted(node, x: ir.Value, window: Window, value: float) -> tuple[ir.Value, Window]:
    """The input with SAME_* padding of its symbolic axes done by ``value``, and the window without it."""
    padding = list(window.padding)
    for axis, shift in enumerate(window.shifts):
        if shift is not None:
            begin, end = padding[axis], padding[window.rank + axis]
            padding[axis] = padding[window.rank + axis] = 0
            pads = [0] * (2 * x.type.rank)
            pads[axis + 2], pads[x.type.rank + axis + 2] = begin, end
            x = relax.pad(x, pads=pads, value=value)
            x = relax.take(x, run_time.counted(shift.length, start=run_time.vector(node, [shift.begin])), axis=axis + 2)
    return x, replace(window, padding=padding, shifts=())


def check_kernel(node, kernel: Sequence[Size]) -> list[int]:
    """The spatial sizes of a convolution's weight. Malformed if the attribute is present and differs."""
    if not all(isinstance(size, int) for size in kernel):
        raise Refused(f"the size of its kernel, {list(kernel)}, is known only at run time")
    named = node.integers("kernel_shape", list(kernel))
    if named != list(kernel):
        raise Malformed(f"kernel_shape = {named}, but the weight's is {list(kernel)}")
    return named


def read_steps(node, name: str, rank: int) -> list[int]:
    """An attribute with a number from 1 on for each spatial axis, 1 if it is absent: strides, dilations."""
    values = node.integers(name, [1] * rank)
    if len(values) != rank or any(value < 1 for value in values):
        raise Malformed(f"{name} = {values}: expected {rank} values of 1 or more")
    return values


def auto_padding(node, sizes: Sequence[Size], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
                 shifts: list[Shift | None] | None = None) -> list[int]:
    """The value of ``pads``, or the padding computed from ``auto_pad``. With ``shifts``, it takes an entry for each axis whose padding is
    known only at run time; the padding of such an axis is the most that it may be."""
    rank = len(kernel)
    mode = node.text("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    pads = node.integers("pads", [0] * (2 * rank))
    if len(pads) != 2 * rank:
        raise Malformed(f"pads = {pads}: expected {2 * rank} values")
    if mode == "NOTSET":
        return pads
    if mode == "VALID":
        return [0] * (2 * rank)
    begins, ends = [], []
    for axis, (size, k, stride, dilation) in enumerate(zip(sizes, kernel, strides, dilations)):
        extent = dilation * (k - 1) + 1
        if stride == 1:
            total = extent - 1
        elif isinstance(size, int):
            total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        elif shifts is None:
            raise Refused(f"auto_pad = '{mode}' with a stride of {stride} over an axis of symbolic size {size} is not supported")
        else:
            length = (ceil_divide(size, stride) - 1) * stride + extent
            needed, most = maximum(length - size, 0), extent // 2
            half = floor_divide(needed, 2)
            shifts[axis] = Shift(most - (half if mode == "SAME_UPPER" else needed - half), length)
            total = 2 * most
        small, large = total // 2, total - total // 2
        begins.append(small if mode == "SAME_UPPER" else large)
        ends.append(large if mode == "SAME_UPPER" else small)
    return begins + ends

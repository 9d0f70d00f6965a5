"""The form of a kernel with one depthwise two-dimensional convolution of f32: its windows, and the elementwise ops on its result."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from legato.analysis.structured.elements import Index, Untraceable, is_given, tensor_leaves
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.ops import WINDOW, producer
from legato.analysis.structured.window import WindowAxis, WindowForm
from legato.core.ir_helpers import terminator
from legato.core.mlir import ir

TERMS: Index = ("n", "h", "w", "f")


@dataclass(frozen=True)
class DepthwiseForm:
    """A depthwise convolution of images of known height, width and channels, zeros around them. The terms of indices are ``n`` (images),
    ``h`` and ``w`` (positions of the result) and ``f`` (channels)."""

    kernel: KernelOps
    window: WindowForm

    @classmethod
    def of(cls, kernel: KernelOps) -> DepthwiseForm | None:
        """The form of a kernel; None for another one."""
        heart = kernel.heart
        if heart is None or heart.kind != WINDOW or heart.op.name != "linalg.depthwise_conv_2d_nhwc_hwc":
            return None
        window = WindowForm.of(kernel)
        if window is None or any(value.type.element_type != ir.F32Type.get() for value in heart.op.operands):
            return None
        form = cls(kernel, window)
        return form if form.weights.type.has_static_shape and form._starts_with_zeros() and form._is_traceable() else None

    @property
    def source(self) -> ir.Value:
        """The images without padding, [n, height, width, channels]."""
        return self.window.source

    @property
    def weights(self) -> ir.Value:
        """The filters, [height, width, channels]."""
        return self.window.op.operands[1]

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.weights.type.shape[2]

    @property
    def axes(self) -> tuple[WindowAxis, WindowAxis]:
        """The windows along the rows and along the columns of the images."""
        return self.window.axes

    @property
    def result(self) -> ir.Value:
        """The convolution's result, of which the epilogue makes the kernel's."""
        return self.window.op.results[0]

    @property
    def returned(self) -> ir.Value:
        """The kernel's result."""
        return self.kernel.ops[-1].operands[0]

    @cached_property
    def reads(self) -> list[tuple[ir.Value, Index]]:
        """The elements that the epilogue reads, besides those of the convolution's result."""
        return [one for one in tensor_leaves(self.kernel, self.returned, TERMS, self.result) if one[0] != self.result]

    def _starts_with_zeros(self) -> bool:
        pad = self.window.pad
        filling = [self.window.fill.operands[0]]
        filling += [] if pad is None else [terminator(pad.regions[0].blocks[0]).operands[0]]
        makers = [producer(value) for value in filling]
        return all(op is not None and op.name == "arith.constant" and ir.FloatAttr(op.attributes["value"]).value == 0 for op in makers)

    def _is_traceable(self) -> bool:
        try:
            given = [self.source, self.weights, *(tensor for tensor, _ in self.reads)]
            own = {index for tensor, index in tensor_leaves(self.kernel, self.returned, TERMS, self.result) if tensor == self.result}
            return own == {TERMS} and all(is_given(tensor) for tensor in given)
        except Untraceable:
            return False

"""The form of a kernel with one depthwise convolution of f32, of one to three dimensions: its windows, and the elementwise ops on its
result.
"""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.convolution import starts_at_zero, unpadded
from legato.analysis.structured.elements import Index
from legato.analysis.structured.epilogue import Epilogue
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.ops import WINDOW
from legato.analysis.structured.window import WindowAxis, axes_of, steps_of
from legato.core.mlir import ir

TERMS: dict[str, Index] = {"linalg.depthwise_conv_1d_nwc_wc": ("n", "w", "f"), "linalg.depthwise_conv_2d_nhwc_hwc": ("n", "h", "w", "f"),
                           "linalg.depthwise_conv_3d_ndhwc_dhwc": ("n", "d", "h", "w", "f")}


@dataclass(frozen=True)
class DepthwiseForm(Epilogue):
    """A depthwise convolution of images of known channels, zeros around them. The terms of indices are ``n`` (images), ``d``,
    ``h`` and ``w`` (positions of the result) and ``f`` (channels)."""

    kernel: KernelOps
    op: ir.Operation
    """The convolution."""
    source: ir.Value
    """The images without padding, [n, height, width, channels], or of another number of spatial dimensions."""
    axes: tuple[WindowAxis, ...]
    """The windows along the spatial dimensions, that of the columns last."""

    @classmethod
    def of(cls, kernel: KernelOps, known: bool = True) -> DepthwiseForm | None:
        """The form of a kernel; None for another one, and where sizes of the images have to be ``known``, for one where they are not."""
        heart = kernel.heart
        if heart is None or heart.kind != WINDOW or heart.op.name not in TERMS or len(kernel.ops[-1].operands) != 1:
            return None
        op = heart.op
        if any(value.type.element_type != ir.F32Type.get() for value in op.operands) or not starts_at_zero(op):
            return None
        padded = unpadded(op.operands[0])
        if padded is None:
            return None
        sizes, counts = (list(value.type.shape)[1:-1] for value in (padded[0], op.results[0]))
        strides, dilations = steps_of(op, "strides"), steps_of(op, "dilations")
        axes = axes_of(sizes, counts, list(op.operands[1].type.shape)[:-1], padded[1], strides, dilations, None if known else padded[2])
        form = None if axes is None else cls(kernel, op, padded[0], axes)
        return form if form is not None and form.weights.type.has_static_shape and form.is_traceable([form.source, form.weights]) else None

    @property
    def terms(self) -> Index:
        """The terms of an element of the result."""
        return TERMS[self.op.name]

    @property
    def weights(self) -> ir.Value:
        """The filters, [height, width, channels], or of another number of spatial dimensions."""
        return self.op.operands[1]

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.weights.type.shape[-1]

    @property
    def result(self) -> ir.Value:
        """The convolution's result, of which the epilogue makes the kernel's."""
        return self.op.results[0]

"""The form of a kernel with one convolution of images in groups, or of integers of 16 bits, as ``ConvolutionForm`` has others."""
from __future__ import annotations

from dataclasses import dataclass

from legato.analysis.structured.contraction import ContractionForm
from legato.analysis.structured.convolution import ConvolutionForm
from legato.analysis.structured.direct import DirectForm
from legato.analysis.structured.elements import Index
from legato.analysis.structured.kernel import StructuredKernel
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.window import WindowAxis, are_known
from legato.core.ir_helpers import present
from legato.core.mlir import ir

ONE_ROW = WindowAxis(size=1, count=1, begin=0, stride=1, dilation=1, taps=1)


@dataclass(frozen=True)
class GroupedConvolutionForm:
    """A convolution of images in groups, whose filter has the features of all groups side by side, or of one group of integers. Sizes of
    channels and features are those of one group; those of images are negative where they are not known."""

    direct: DirectForm

    @classmethod
    def of(cls, kernel: KernelOps) -> GroupedConvolutionForm | None:
        """The form of a kernel; None for another one, and for volumes."""
        form = DirectForm.of(kernel, known=False)
        return cls(form) if form is not None and form.groups > 1 and len(form.axes) <= 2 else None

    @classmethod
    def of_bytes(cls, kernel: KernelOps) -> GroupedConvolutionForm | None:
        """The form of a kernel with a convolution of images, in one group, that have bytes in 16 bits; None for another one."""
        form = DirectForm.of(kernel, known=False)
        return cls(form) if form is not None and form.groups == 1 and len(form.axes) <= 2 and form.is_of_bytes else None

    @property
    def axes(self) -> tuple[WindowAxis, WindowAxis]:
        """The windows down and across; an image of one dimension is one row."""
        rows, columns = (ONE_ROW, *self.direct.axes)[-2:]
        return rows, columns

    @property
    def kernel(self) -> KernelOps:
        """The kernel."""
        return self.direct.kernel

    @property
    def contraction(self) -> ContractionForm:
        """The roles of the convolution's loops."""
        return self.direct.contraction

    @property
    def op(self) -> ir.Operation:
        """The convolution."""
        return self.direct.op

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.direct.groups

    @property
    def source(self) -> ir.Value:
        """The images without padding, with the channels of all groups."""
        return self.direct.source

    @property
    def begins(self) -> tuple[int, int]:
        """The zeros before the first row, and the first column."""
        rows, columns = self.axes
        return rows.begin, columns.begin

    @property
    def ends(self) -> tuple[int, int]:
        """The zeros after the last row, and the last column, that windows read, or where sizes are not known, all."""
        rows, columns = (axis.reads(0, axis.count)[3] if are_known([axis]) else axis.end for axis in self.axes)
        return rows, columns

    @property
    def strides(self) -> tuple[int, int]:
        """The rows, and the columns, between neighbouring windows."""
        rows, columns = self.axes
        return rows.stride, columns.stride

    @property
    def dilations(self) -> tuple[int, int]:
        """The rows, and the columns, between neighbouring taps of a window."""
        rows, columns = self.axes
        return rows.dilation, columns.dilation

    @property
    def depth(self) -> None:
        """There are no slices of volumes."""

    @property
    def filter(self) -> ir.BlockArgument:
        """The filter, [height, width, channels, features of all groups], or of one spatial dimension."""
        return self.direct.filter

    @property
    def filter_shape(self) -> list[int]:
        """The filter's height, width, channels and features."""
        return [*(axis.taps for axis in self.axes), self.direct.channels, self.direct.features]

    @property
    def source_shape(self) -> list[int]:
        """The number, height and width of images, and the channels of all groups."""
        images, *_, channels = self.source.type.shape
        return [images, *(axis.size for axis in self.axes), channels]

    @property
    def result_shape(self) -> list[int]:
        """The number of images, rows, columns and features of the result."""
        return [self.source_shape[0], *(axis.count for axis in self.axes), self.direct.features]

    @property
    def result(self) -> ir.Value:
        """The convolution's result, of which the epilogue makes the kernel's."""
        return self.direct.result

    @property
    def returned(self) -> ir.Value:
        """What the epilogue makes."""
        return self.direct.returned

    @property
    def made(self) -> Index:
        """The index of what the epilogue makes, by the terms that it has."""
        return self.direct.own_terms

    @property
    def out(self) -> Index:
        """The index of the kernel's result, in which the features of all groups are one dimension."""
        return self.direct.terms

    @property
    def reads(self) -> list[tuple[ir.Value, Index]]:
        """The elements that the epilogue reads, besides those of the convolution's result, by the terms that it has."""
        return self.direct.reads

    @property
    def memory(self) -> list[ir.Value]:
        """The tensors that have these, in which the features of all groups are one dimension."""
        return [present(self.direct.flat(*one))[0] for one in self.reads]


ImageConvolutionForm = ConvolutionForm | GroupedConvolutionForm


def image_convolution(kernel: StructuredKernel) -> ImageConvolutionForm | None:
    """The form of a kernel with a convolution of images, in groups or not; None for another kernel."""
    return GroupedConvolutionForm.of(kernel) if kernel.convolution is None else kernel.convolution


def winograd_convolution(kernel: StructuredKernel) -> ImageConvolutionForm | None:
    """The form of a kernel with a convolution that Winograd's algorithm may compute: of images, or of their bytes in 16 bits."""
    form = image_convolution(kernel)
    return GroupedConvolutionForm.of_bytes(kernel) if form is None else form

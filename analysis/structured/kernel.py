"""The classification of one kernel of structured ops."""
from functools import cached_property

from legato.analysis.structured.attention import AttentionForm
from legato.analysis.structured.contraction import ContractionForm
from legato.analysis.structured.convolution import ConvolutionForm
from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.window import WindowForm


class StructuredKernel(KernelOps):
    """The classification of one kernel: its ops, and the form of its contraction, window op, convolution or attention."""

    @cached_property
    def contraction(self) -> ContractionForm | None:
        """The form of a kernel with one contraction or convolution; None for another kernel."""
        return ContractionForm.of(self)

    @cached_property
    def convolution(self) -> ConvolutionForm | None:
        """The form of a kernel with one dense convolution of one or two dimensions; None for another kernel."""
        return ConvolutionForm.of(self, self.contraction)

    @cached_property
    def window(self) -> WindowForm | None:
        """The form of a kernel with one pooling or depthwise convolution; None for another kernel."""
        return WindowForm.of(self)

    @cached_property
    def attention(self) -> AttentionForm | None:
        """The form of a kernel that computes an attention; None for another kernel."""
        return AttentionForm.of(self)

"""Classification of kernels: the kind of each structured op and of the kernel, and the form of its contraction or window op.

A ``StructuredKernel`` is made once for a kernel and is valid until the kernel is rewritten. Passes get it from ``context.kernels``, a
``StructuredKernels``, and drop it there when they rewrite the kernel.
"""
from legato.analysis.structured.attention import AttentionForm
from legato.analysis.structured.cache import StructuredKernels
from legato.analysis.structured.contraction import ContractionForm
from legato.analysis.structured.convolution import ConvolutionForm
from legato.analysis.structured.kernel import StructuredKernel
from legato.analysis.structured.ops import CONTRACTION, ELEMENTWISE, OPAQUE, PARALLEL, REDUCTION, WINDOW, StructuredOp
from legato.analysis.structured.window import WindowForm

__all__ = ["CONTRACTION", "ELEMENTWISE", "OPAQUE", "PARALLEL", "REDUCTION", "WINDOW", "AttentionForm", "ContractionForm",
           "ConvolutionForm", "StructuredKernel", "StructuredKernels", "StructuredOp", "WindowForm"]

"""The classifier of kernels: what a structured op is, what a kernel is, and the form of what it is built around.

A ``StructuredKernel`` is made once for a kernel and holds until the kernel is rewritten: passes get it from ``context.kernels``, a
``StructuredKernels``, and drop it there when they rewrite.
"""
from legato.analysis.structured.cache import StructuredKernels
from legato.analysis.structured.contraction import ContractionForm
from legato.analysis.structured.kernel import StructuredKernel
from legato.analysis.structured.ops import CONTRACTION, ELEMENTWISE, OPAQUE, PARALLEL, REDUCTION, WINDOW, StructuredOp
from legato.analysis.structured.window import WindowForm

__all__ = ["CONTRACTION", "ELEMENTWISE", "OPAQUE", "PARALLEL", "REDUCTION", "WINDOW", "ContractionForm", "StructuredKernel",
           "StructuredKernels", "StructuredOp", "WindowForm"]

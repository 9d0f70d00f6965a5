"""A cache of classifications of kernels."""
from legato.analysis.structured.kernel import StructuredKernel
from legato.core.mlir import func, ir


class StructuredKernels:
    """Classifications by function, for one run of passes.

    Entries hold operations, which dangle once they are erased: a pass that rewrites a kernel must drop it here. The pipeline clears the
    cache after each pass that does not declare this (``ModulePass.keeps_kernels``), and at its end.
    """

    def __init__(self) -> None:
        self._found: dict[ir.Operation, StructuredKernel] = {}

    def of(self, kernel: func.FuncOp) -> StructuredKernel:
        """The classification of a kernel, made on the first call."""
        key = kernel.operation
        if key not in self._found:
            self._found[key] = StructuredKernel(kernel)
        return self._found[key]

    def drop(self, kernel: func.FuncOp) -> None:
        """Forgets a kernel; call it when the kernel is rewritten."""
        self._found.pop(kernel.operation, None)

    def clear(self) -> None:
        """Forgets all kernels."""
        self._found.clear()

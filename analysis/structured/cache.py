"""The classifications of a module's kernels, each made once and kept until its kernel is rewritten."""
from legato.analysis.structured.kernel import StructuredKernel
from legato.core.mlir import func, ir


class StructuredKernels:
    """Kernels by function, for one run of passes.

    The entries hold operations, which dangle once a pass has erased them: whoever rewrites a kernel drops it here. The pipeline clears the
    whole behind a pass that does not say that it does so (``ModulePass.keeps_kernels``), and at its own end.
    """

    def __init__(self) -> None:
        self._found: dict[ir.Operation, StructuredKernel] = {}

    def of(self, kernel: func.FuncOp) -> StructuredKernel:
        """The classification of a kernel."""
        key = kernel.operation
        if key not in self._found:
            self._found[key] = StructuredKernel(kernel)
        return self._found[key]

    def drop(self, kernel: func.FuncOp) -> None:
        """Forgets a kernel that is rewritten."""
        self._found.pop(kernel.operation, None)

    def clear(self) -> None:
        """Forgets all kernels."""
        self._found.clear()

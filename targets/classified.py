"""Functions of a target that read a kernel's classification, beside those that read the kernel itself."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from legato.analysis.structured import StructuredKernel
from legato.core.mlir import func

Answer = TypeVar("Answer", covariant=True)
KernelFunction = Callable[[func.FuncOp, Any], Answer]  # of a prim_func and the machine


@dataclass(frozen=True)
class Classified(Generic[Answer]):
    """The result of `classified`: callable as a KernelFunction; passes hand ``of_classification`` what they know already."""

    of_classification: Callable[[StructuredKernel, Any], Answer]

    def __call__(self, kernel: func.FuncOp, machine: Any) -> Answer:
        """The answer for a prim_func, which is classified anew."""
        return self.of_classification(StructuredKernel(kernel), machine)


def classified(function: Callable[[StructuredKernel, Any], Answer]) -> Classified[Answer]:
    """Decorates a schedule_function or packing_function that reads the kernel's classification instead of the ``func.FuncOp``.

    The classification has the ``func.FuncOp`` (``.function``), ``.kind``, ``.structured``, ``.contraction`` and ``.window``. It is made
    once for all passes that ask for it.
    """
    return Classified(function)


def ask(function: KernelFunction[Answer] | Classified[Answer], kernel: StructuredKernel, machine: Any) -> Answer:
    """Calls a target's function with what it takes: the classification if it is `classified`, else the prim_func."""
    if isinstance(function, Classified):
        return function.of_classification(kernel, machine)
    return function(kernel.function, machine)

"""tir-fold-empty-views: reshapes of new tensors become new tensors of that shape."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import defining_op, find
from legato.core.mlir import ir, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.ties import place_of
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class FoldEmptyViews(ModulePass):
    """Where a kernel only writes and reads a reshape of a tensor.empty, as linalg-fuse-elementwise-ops leaves it between a convolution in
    groups and what follows, the buffer has the shape that both index by one loop for each dimension, which schedules ask for.

    A reshape stays where what is computed in it is reshaped for another op, which the tensor's own shape is for; and a collapse_shape
    whose result has unknown sizes.
    """

    name: ClassVar[str] = "tir-fold-empty-views"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            for view in find(kernel.operation, *RESHAPES):
                source, result = defining_op(view.operands[0]), view.results[0]
                if source is None or source.name != "tensor.empty" or _is_reshaped(result):
                    continue
                unknown = list(view.operands)[1:]
                if sum(map(result.type.is_dynamic_dim, range(result.type.rank))) != len(unknown):
                    continue
                sizes = iter(unknown)
                with ir.InsertionPoint(view), view.location:
                    made = tensor.EmptyOp([next(sizes) if result.type.is_dynamic_dim(axis) else size
                                           for axis, size in enumerate(result.type.shape)], result.type.element_type)
                result.replace_all_uses_with(made.result)
                view.erase()
                context.kernels.drop(kernel)


def _is_reshaped(memory: ir.Value) -> bool:
    """Whether what ops compute in the place of a tensor is reshaped for another op than the kernel's end."""
    for result in (result for use in memory.uses for result in use.owner.results if place_of(result) == use.operand_number):
        views = [use.owner for use in result.uses if use.owner.name in RESHAPES]
        if any(use.owner.name != "func.return" for view in views for use in view.results[0].uses) or _is_reshaped(result):
            return True
    return False

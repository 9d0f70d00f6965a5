"""tir-tie-reshapes: a result that is returned collapsed is computed in the expanded output argument, which saves a copy."""
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.ops import producer
from legato.core.mlir import ir, tensor
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class TieReshapes(ModulePass):
    """Makes the expanded output argument the destination of results that a kernel returns collapsed."""

    name: ClassVar[str] = "tir-tie-reshapes"
    keeps_kernels: ClassVar[bool] = True

    def run(self, module: Module, context: PassContext) -> None:
        for kernel in tir.schedulable(module.module):
            if tie_reshapes(context.kernels.of(kernel)):
                context.kernels.drop(kernel)


def tie_reshapes(kernel: StructuredKernel) -> bool:
    """Makes the expanded output argument the destination of each collapsed result, which saves a copy. Returns whether there is one."""
    block, changed = kernel.function.body.blocks[0], False
    results = list(block.operations[len(block.operations) - 1].operands)
    outputs = list(block.arguments)[len(block.arguments) - len(results):]
    for value, out in zip(results, outputs, strict=True):
        view = producer(value)
        if view is None or view.name != "tensor.collapse_shape":
            continue
        maker, made = producer(view.operands[0]), view.operands[0]
        if maker is None or not maker.name.startswith("linalg.") or not made.type.has_static_shape:
            continue
        place = len(maker.operands) - len(maker.results) + ir.OpResult(made).result_number
        start = producer(maker.operands[place])
        if start is not None and start.name == "tensor.empty":
            groups = [[dim.value for dim in group] for group in view.attributes["reassociation"]]
            with ir.InsertionPoint(maker), maker.location:
                maker.operands[place] = tensor.ExpandShapeOp(made.type, out, groups, [], list(made.type.shape)).result
            changed = True
    return changed

"""tir-drop-parameters: lowered kernels lose the parameters that they do not read."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import PASSED, TENSOR_MAPS
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class DropParameters(ModulePass):
    """Erases the parameters of kernels that have no uses, and marks which are left (``tir.passed``).

    Upstream passes a buffer as its descriptor, of which a kernel reads the address, and sizes that are not known: a kernel's parameters are
    limited to 4,352 bytes, and each launch copies them. Kernels with tensor maps keep theirs: graphs know by the buffers' addresses that
    a map is another one.
    """

    name: ClassVar[str] = "tir-drop-parameters"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "llvm.func"):
                if "gpu.kernel" in kernel.attributes and TENSOR_MAPS not in kernel.attributes:
                    drop_parameters(kernel)


def drop_parameters(kernel: ir.Operation) -> None:
    """Erases the unused parameters of one kernel."""
    block = kernel.regions[0].blocks[0]
    kept = [n for n, argument in enumerate(block.arguments) if list(argument.uses)]
    attributes = list(ir.ArrayAttr(kernel.attributes["arg_attrs"])) if "arg_attrs" in kernel.attributes else []
    for number in reversed(range(len(block.arguments))):
        if number not in kept:
            block.erase_argument(number)
    types = ", ".join(str(argument.type) for argument in block.arguments)
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.Type.parse(f"!llvm.func<void ({types})>"))
    if attributes:
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([attributes[n] for n in kept])
    kernel.attributes[PASSED] = ir.DenseI64ArrayAttr.get(kept)

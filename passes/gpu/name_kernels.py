"""tir-name-kernels: gives each outlined kernel the name of its gpu.module, which is unique."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class NameKernels(ModulePass):
    """Gives each gpu.func the name of its gpu.module: upstream gives all launches of one function the same name."""

    name: ClassVar[str] = "tir-name-kernels"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            name_kernels(module.module)


def name_kernels(module: ir.Module) -> None:
    """Renames the kernels of a module, and their launches."""
    for holder in find(module.operation, "gpu.module"):
        for function in find(holder, "gpu.func"):
            function.attributes["sym_name"] = holder.attributes["sym_name"]
    for launch in find(module.operation, "gpu.launch_func"):
        holder = ir.SymbolRefAttr(launch.attributes["kernel"]).value[0]
        launch.attributes["kernel"] = ir.SymbolRefAttr.get([holder, holder])

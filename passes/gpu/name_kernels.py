"""tir-name-kernels: each outlined kernel is called as its gpu.module is, which is unique in the module."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext


@dataclass(frozen=True)
class NameKernels(ModulePass):
    """Gives each gpu.func the name of its gpu.module: upstream calls all launches of one function the same."""

    name: ClassVar[str] = "tir-name-kernels"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            name_kernels(module.module)


def name_kernels(module: ir.Module) -> None:
    """Gives each kernel the name of its gpu.module, of which there is one in the module; launches of one function share theirs."""
    for holder in find(module.operation, "gpu.module"):
        for function in find(holder, "gpu.func"):
            function.attributes["sym_name"] = holder.attributes["sym_name"]
    for launch in find(module.operation, "gpu.launch_func"):
        holder = ir.SymbolRefAttr(launch.attributes["kernel"]).value[0]
        launch.attributes["kernel"] = ir.SymbolRefAttr.get([holder, holder])

"""tir-align-shared: aligns workgroup buffers."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

SHARED_ALIGNMENT = 128


@dataclass(frozen=True)
class AlignShared(ModulePass):
    """Aligns the workgroup buffers of every gpu.func; without it, LLVM assumes a greater alignment than it emits."""

    name: ClassVar[str] = "tir-align-shared"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            align_shared(module.module)


def align_shared(module: ir.Module) -> None:
    """Sets the alignment of the workgroup buffers of every gpu.func."""
    for function in find(module.operation, "gpu.func"):
        count = function.attributes["workgroup_attributions"].value if "workgroup_attributions" in function.attributes else 0
        if count:
            align = ir.DictAttr.get({"llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), SHARED_ALIGNMENT)})
            function.attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([align] * count)

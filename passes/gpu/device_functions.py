"""tir-device-functions: declarations and calls of device library functions in gpu.modules become llvm.func and llvm.call."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import EXTERN
from legato.passes.pipeline.base import ModulePass, PassContext

MEMORY = ("other", "argMem", "inaccessibleMem", "errnoMem", "targetMem0", "targetMem1")


@dataclass(frozen=True)
class DeviceFunctions(ModulePass):
    """Declarations of library functions in gpu.modules, and calls of them, become LLVM's; upstream would rename and wrap them."""

    name: ClassVar[str] = "tir-device-functions"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for op in module.module.body.operations:
                if op.operation.name == "gpu.module":
                    device_functions(op)


def device_functions(module: ir.Operation | ir.OpView) -> None:
    """Rewrites one gpu.module."""
    for op in list(module.operation.regions[0].blocks[0].operations):
        if op.operation.name == "func.func" and EXTERN in op.operation.attributes:
            type_ = op.type
            result = f" -> {type_.results[0]}" if type_.results else ""
            text = f"llvm.func @{op.name.value}({', '.join(map(str, type_.inputs))}){result}"
            if "llvm.readnone" in op.operation.attributes:
                text += f" attributes {{memory_effects = #llvm.memory_effects<{', '.join(f'{m} = none' for m in MEMORY)}>}}"
            ir.InsertionPoint(op).insert(ir.Operation.parse(text))
            op.operation.erase()
    for call in find(module.operation, "func.call"):
        with ir.InsertionPoint(call), call.location:
            new = ir.Operation.create("llvm.call", [r.type for r in call.results], list(call.operands), {
                "callee": call.attributes["callee"], "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(call.operands), 0])})
        for old, result in zip(call.results, new.results):
            old.replace_all_uses_with(result)
        call.erase()

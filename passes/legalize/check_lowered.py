"""tir-check-lowered: refuses what upstream's conversions have left; LLVM's translation would crash on it."""
from dataclasses import dataclass
from typing import ClassVar, Literal

from legato.core.diagnostics import PassFailed
from legato.core.ir_helpers import kinds
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext, option

HOST, DEVICE = ("llvm", "omp", "builtin"), ("llvm", "nvvm", "gpu")
CAST = "builtin.unrealized_conversion_cast"


@dataclass(frozen=True)
class CheckLowered(ModulePass):
    """Refuses ops of other dialects than LLVM's (llvm: in the module, and NVVM's in its gpu.modules; nvvm: in these only). Changes
    nothing."""

    name: ClassVar[str] = "tir-check-lowered"
    to: Literal["llvm", "nvvm"] = option("llvm", "what the module is lowered to")

    def run(self, module: Module, context: PassContext) -> None:
        for op in module.module.body.operations:
            if op.operation.name == "gpu.module":
                refuse_others(op.operation, DEVICE, "NVVM")
            elif self.to == "llvm":
                refuse_others(op.operation, HOST, "LLVM")


def refuse_others(root: ir.Operation, dialects: tuple[str, ...], to: str) -> None:
    """PassFailed for the first op under ``root`` of none of the dialects. ``to``: the target dialect, for the message."""
    for op in kinds(root):
        if op.name.split(".")[0] not in dialects or op.name == CAST:
            raise PassFailed(f"{op.name} has no lowering to {to}", op)

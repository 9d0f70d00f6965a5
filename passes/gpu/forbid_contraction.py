"""tir-forbid-contraction: the device's compiler computes SPIR-V's float arithmetic as it is written."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

ARITHMETIC = ("spirv.FAdd", "spirv.FSub", "spirv.FMul", "spirv.FDiv", "spirv.FRem", "spirv.FNegate")
DECORATION = "no_contraction"


@dataclass(frozen=True)
class ForbidContraction(ModulePass):
    """Decorates float arithmetic with NoContraction. Without it, drivers take (x + c) - c for x, by which functions round to whole
    numbers, and give wrong results: seen in Mesa. Fused multiply-adds that are written as such stay.
    """

    name: ClassVar[str] = "tir-forbid-contraction"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for op in find(module.operation, *ARITHMETIC):
                op.attributes[DECORATION] = ir.UnitAttr.get()

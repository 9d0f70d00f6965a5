"""tir-mark-functions: gives every llvm.func the target's CPU and features; kernels become internal and noinline."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.cpu_table import MATRIX_FLAGS
from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import PRIM_FUNC
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option


@dataclass(frozen=True)
class MarkFunctions(ModulePass):
    """Sets the target's CPU and features on every llvm.func; kernels become internal functions that are not inlined."""

    name: ClassVar[str] = "tir-mark-functions"
    target: TargetText = option("llvm", "the target whose CPU and features are set")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context:
            mark_functions(module.module, machine.cpu, needed(module.module, machine.features))


def needed(module: ir.Module, features: str) -> str:
    """The features without AMX where no function uses it: code that does not runs where the system refuses AMX."""
    others = [feature for feature in features.split(",") if feature.lstrip("+-") not in MATRIX_FLAGS]
    if len(others) == len(features.split(",")):
        return features
    intrinsics = (op.attributes["intrin"].value for op in find(module.operation, "llvm.call_intrinsic"))
    if any(name.startswith("llvm.x86.tile") for name in intrinsics):
        return features
    return ",".join(others)


def mark_functions(module: ir.Module, cpu: str, features: str) -> None:
    """Marks the functions of ``module`` that have a body. ``cpu``, ``features``: LLVM's names (``+avx2,+fma``)."""
    target = ir.Attribute.parse("#llvm.target_features<[" + ", ".join(f'"{f}"' for f in features.split(",")) + "]>")
    internal = ir.Attribute.parse("#llvm.linkage<internal>")
    for op in module.body.operations:
        if op.operation.name != "llvm.func" or not op.operation.regions[0].blocks:
            continue
        op.operation.attributes["target_cpu"] = ir.StringAttr.get(cpu)
        op.operation.attributes["target_features"] = target
        if PRIM_FUNC in op.operation.attributes:
            op.operation.attributes["linkage"] = internal
            op.operation.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])

"""tir-lower-nvvm: the functions of gpu.modules become functions of NVVM, for NVIDIA's GPUs."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.diagnostics import PassFailed
from legato.core.interfaces import TargetLike
from legato.core.mlir import ir, passmanager
from legato.core.records import RuleRecord
from legato.dialects.module import Module
from legato.dialects.tir.markers import EXTERN
from legato.passes.legalize.intrinsics import legalize_intrinsics, lower_intrinsics
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option

DOWN = ("gpu.module(expand-strided-metadata,lower-affine,convert-vector-to-scf{full-unroll=1},convert-scf-to-cf,"
        "convert-gpu-to-nvvm,convert-vector-to-llvm,reconcile-unrealized-casts,canonicalize,cse)")
MEMORY = ("other", "argMem", "inaccessibleMem", "errnoMem", "targetMem0", "targetMem1")
ALLOWED = ("llvm", "nvvm", "gpu")


@dataclass(frozen=True)
class LowerNvvm(ModulePass):
    """Functions of gpu.modules become functions of the NVVM dialect; intrinsics by the target's rules."""

    name: ClassVar[str] = "tir-lower-nvvm"
    target: TargetText = option("nvvm", "whose intrinsics")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.report["target"] = context.target(self.target)
        with module.context, ir.Location.unknown():
            lower_nvvm(module.module, target, context.report.setdefault("intrinsics", []))


def lower_nvvm(module: ir.Module, target: TargetLike, report: list[RuleRecord]) -> None:
    """Lowers all gpu.modules. Raises PassFailed, with the op, for what is left over: translation would crash on it."""
    legalize_intrinsics(module, target, report)
    lower_intrinsics(module, target, report)
    for op in module.body.operations:
        if op.operation.name == "gpu.module":
            device_functions(op)
    passmanager.PassManager.parse(f"builtin.module({DOWN})").run(module.operation)
    left: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.split(".")[0] not in ALLOWED:
            left.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    for op in module.body.operations:
        if op.operation.name == "gpu.module":
            op.operation.walk(visit)
    if left:
        raise PassFailed(f"{left[0].name} has no lowering to NVVM", left[0])


def device_functions(module: ir.Operation | ir.OpView) -> None:
    """Declarations of a library's functions, and calls of them, as LLVM's: upstream would put a wrapper of another name around each."""
    for op in list(module.operation.regions[0].blocks[0].operations):
        if op.operation.name == "func.func" and EXTERN in op.operation.attributes:
            type_ = op.type
            result = f" -> {type_.results[0]}" if type_.results else ""
            text = f"llvm.func @{op.name.value}({', '.join(map(str, type_.inputs))}){result}"
            if "llvm.readnone" in op.operation.attributes:
                text += f" attributes {{memory_effects = #llvm.memory_effects<{', '.join(f'{m} = none' for m in MEMORY)}>}}"
            ir.InsertionPoint(op).insert(ir.Operation.parse(text))
            op.operation.erase()
    calls: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "func.call":
            calls.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for call in calls:
        with ir.InsertionPoint(call), call.location:
            new = ir.Operation.create("llvm.call", [r.type for r in call.results], list(call.operands), {
                "callee": call.attributes["callee"], "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(call.operands), 0])})
        for old, result in zip(call.results, new.results):
            old.replace_all_uses_with(result)
        call.erase()

"""tir-vulkan-memory-model: kernels with cooperative matrices get Vulkan's memory model, which their extension of SPIR-V demands.

In it memory is a thread's own unless each access says otherwise, and a barrier shows it to others if it says so. Upstream's
``convert-gpu-to-spirv`` knows GLSL's memory model only, where both go without saying.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import BF16_MATRICES
from legato.passes.pipeline.base import ModulePass, PassContext

LOAD, STORE, PRODUCT = (f"spirv.KHR.CooperativeMatrix{what}" for what in ("Load", "Store", "MulAdd"))
ACCESSES = {"spirv.Load": "memory_access", "spirv.Store": "memory_access", LOAD: "memory_operand", STORE: "memory_operand"}
SHARED = "Workgroup>"          # how the type of a pointer to shared memory ends
FUNCTION = "spirv.func"


@dataclass(frozen=True)
class VulkanMemoryModel(ModulePass):
    """Declares Vulkan's memory model for modules with cooperative matrices, marks their accesses to shared memory as seen by other threads,
    and makes barriers show what was written. Matrices of bf16, which came as f16, get their type."""

    name: ClassVar[str] = "tir-vulkan-memory-model"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for one in find(module.operation, "spirv.module"):
                if find(one, PRODUCT):
                    declare(one)


def declare(module: ir.Operation) -> None:
    """Rewrites one module."""
    module.attributes["memory_model"] = ir.Attribute.parse("#spirv.memory_model<Vulkan>")
    shown = ir.Attribute.parse("#spirv.memory_access<NonPrivatePointer>")
    for op in find(module, *ACCESSES):
        if any(str(v.type).startswith("!spirv.ptr<") and str(v.type).endswith(SHARED) for v in op.operands):
            op.attributes[ACCESSES[op.name]] = shown
    for op in find(module, "spirv.ControlBarrier"):
        op.attributes["memory_semantics"] = ir.Attribute.parse(
            "#spirv.memory_semantics<AcquireRelease|WorkgroupMemory|MakeAvailable|MakeVisible>")
    for op in find(module, PRODUCT):
        if "xi32," in str(op.results[0].type):      # upstream says of the factors only whether they are signed
            factors = [f"{side}Signed" for side, value in zip("AB", op.operands) if "xsi8," in str(value.type)]
            signed = "|".join([*factors, "CSigned", "ResultSigned"])
            op.attributes["matrix_operands"] = ir.Attribute.parse(f"#spirv.cooperative_matrix_operands_khr<{signed}>")
    for function in find(module, FUNCTION):
        if BF16_MATRICES in function.attributes:
            del function.attributes[BF16_MATRICES]
            for op in find(function, PRODUCT):
                for value in list(op.operands)[:2]:
                    value.set_type(ir.Type.parse(str(value.type).replace("xf16,", "xbf16,")))

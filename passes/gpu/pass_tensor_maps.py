"""tir-pass-tensor-maps: lowered kernels take tensor maps by value, as constants of the grid; what upstream's lowering drops of a kernel."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import TENSOR_MAPS
from legato.passes.pipeline.base import ModulePass, PassContext

DYNAMIC_MEMORY = "__dynamic_shmem__"      # what upstream calls dynamic shared memory
MAP = "{llvm.byval = !llvm.array<16 x i64>, llvm.align = 64 : i64, nvvm.grid_constant}"


@dataclass(frozen=True)
class PassTensorMaps(ModulePass):
    """Marks the last parameters of kernels with tensor maps as 128 bytes that are passed by value, and says that a multiprocessor has one
    of their blocks at least, without which setmaxnreg has no effect. Dynamic shared memory is declared, not defined."""

    name: ClassVar[str] = "tir-pass-tensor-maps"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "llvm.func"):
                if TENSOR_MAPS in kernel.attributes:
                    pass_maps(kernel, kernel.attributes[TENSOR_MAPS].value)
            for memory in find(module.operation, "llvm.mlir.global"):
                if ir.StringAttr(memory.attributes["sym_name"]).value.startswith(DYNAMIC_MEMORY):
                    memory.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")


def pass_maps(kernel: ir.Operation, count: int) -> None:
    """Marks the parameters of one kernel."""
    total = len(kernel.regions[0].blocks[0].arguments)
    old = list(kernel.attributes["arg_attrs"]) if "arg_attrs" in kernel.attributes else [ir.DictAttr.get({})] * total
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([*old[:total - count], *[ir.Attribute.parse(MAP)] * count])
    kernel.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)

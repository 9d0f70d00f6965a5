"""tir-keep-loops: the device's compiler does not unroll long SPIR-V loops."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

LONG = 128      # ops of a body, from where unrolling it saves nothing: what a loop costs is 3 of them
CONTROL, KEPT = "loop_control", "#spirv.loop_control<DontUnroll>"


@dataclass(frozen=True)
class KeepLoops(ModulePass):
    """Asks for loops of 128 ops and more in their bodies to stay loops. What gains by being unrolled is unrolled by schedules; a driver
    that does it again, because a loop has few steps, makes code that no cache of instructions holds: a product of 512 rows, columns and
    steps of depth takes 1.6 times as long on Mesa's driver for CPUs. A loop whose steps reach different elements of a thread's own array
    is left to the driver: only unrolled is the array in registers.
    """

    name: ClassVar[str] = "tir-keep-loops"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            kept = ir.Attribute.parse(KEPT)
            for loop in find(module.operation, "spirv.mlir.loop"):
                if length(loop) >= LONG and not reaches_registers(loop):
                    loop.attributes[CONTROL] = kept


def length(op: ir.Operation) -> int:
    """The number of ops in the regions of an op."""
    return sum(1 + length(inner.operation) for region in op.regions for block in region.blocks for inner in block.operations)


def reaches_registers(loop: ir.Operation) -> bool:
    """Whether a loop reaches elements of an array of the thread's own at indices that are not constant."""
    return any("Function>" in str(op.results[0].type) and any(is_computed(index) for index in list(op.operands)[1:])
               for op in find(loop, "spirv.AccessChain"))


def is_computed(index: ir.Value) -> bool:
    """Whether an index is not constant."""
    return isinstance(index.owner, ir.Block) or index.owner.name != "spirv.Constant"

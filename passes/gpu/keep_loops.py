"""tir-keep-loops: compilers of kernels do not unroll long SPIR-V loops, and loops of LLVM's dialect that wait or multiply matrices."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import body, find, terminator
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext

LONG = 128      # ops of a body, from where unrolling it saves nothing: what a loop costs is 3 of them
CONTROL, KEPT = "loop_control", "#spirv.loop_control<DontUnroll>"
ANNOTATION, NOT_UNROLLED = "loop_annotation", "#llvm.loop_annotation<unroll = <disable = true>>"
WAITS, MULTIPLIES = "mbarrier.try_wait", "nvvm.mma.sync"


@dataclass(frozen=True)
class KeepLoops(ModulePass):
    """Asks for loops of 128 ops and more in their bodies to stay loops. What gains by being unrolled is unrolled by schedules; a driver
    that does it again, because a loop has few steps, makes code that no cache of instructions holds: a product of 512 rows, columns and
    steps of depth takes 1.6 times as long on Mesa's driver for CPUs. A loop whose steps reach different elements of a thread's own array
    is left to the driver: only unrolled is the array in registers. A step of a loop that waits for copies of tiles, or for tiles to be
    read, has all the work of a warpgroup, and one that multiplies matrices that of a warp: unrolled it is only longer. NVIDIA's assembler
    makes of 24 such steps 1104 instructions instead of 280.
    """

    name: ClassVar[str] = "tir-keep-loops"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for loop in find(module.operation, "spirv.mlir.loop"):
                if length(loop) >= LONG and not reaches_registers(loop):
                    loop.attributes[CONTROL] = ir.Attribute.parse(KEPT)     # imports the bindings of spirv
            annotation = ir.Attribute.parse(NOT_UNROLLED)
            for kernel in find(module.operation, "llvm.func"):
                for branch in whole_steps(list(kernel.regions[0].blocks)):
                    branch.attributes[ANNOTATION] = annotation


def whole_steps(blocks: Sequence[ir.Block]) -> Iterator[ir.Operation]:
    """The branches back of loops in which a thread waits at an mbarrier, or multiplies matrices."""
    numbers = {block: number for number, block in enumerate(blocks)}
    kept = [any(map(keeps_loop, body(block))) for block in blocks]
    for number, block in enumerate(blocks):
        last = terminator(block)
        if last.name == "llvm.br" and (first := numbers[last.successors[0]]) <= number and any(kept[first:number + 1]):
            yield last


def keeps_loop(op: ir.Operation) -> bool:
    """Whether an op waits at an mbarrier, or multiplies matrices."""
    return op.name == MULTIPLIES or (op.name == "llvm.inline_asm" and WAITS in op.attributes["asm_string"].value)


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

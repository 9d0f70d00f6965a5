"""tir-ask-registers: kernels whose loops load much at once get the registers that this takes, and others no more than leave blocks room.

NVIDIA's assembler gives a kernel few registers where more of its blocks run on a multiprocessor so, and puts its loads one after the other
for that: of eight loads of 16 bytes in a step of a loop four wait until the first are used, and memory is idle. Of blocks whose warps wait
for matrix instructions and for each other it gives the threads of one all registers that make its code shortest, where a second block
would have something to do meanwhile.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import LOADS_TOGETHER, RESIDENT_BLOCKS
from legato.passes.pipeline.base import ModulePass, PassContext

LEAST_BLOCKS = "nvvm.minctasm"     # of a multiprocessor: .minnctapersm of PTX


@dataclass(frozen=True)
class AskRegisters(ModulePass):
    """Asks for one block on a multiprocessor, at least, in kernels with a loop of ``tir.loads_together``, and for as many as a loop's
    ``tir.resident_blocks`` say, and takes the marks from the loops: without a number the assembler chooses its own."""

    name: ClassVar[str] = "tir-ask-registers"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            for kernel in find(module.operation, "gpu.func"):
                blocks: list[int] = []
                for loop in find(kernel, "scf.for"):
                    for mark in (LOADS_TOGETHER, RESIDENT_BLOCKS):
                        if mark in loop.attributes:
                            blocks.append(1 if mark == LOADS_TOGETHER else loop.attributes[mark].value)
                            del loop.attributes[mark]
                if blocks:
                    kernel.attributes[LEAST_BLOCKS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), min(blocks))

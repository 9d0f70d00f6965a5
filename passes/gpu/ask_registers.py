"""tir-ask-registers: kernels whose loops load much at once get the registers that this takes.

NVIDIA's assembler gives a kernel few registers where more of its blocks run on a multiprocessor so, and puts its loads one after the other
for that: of eight loads of 16 bytes in a step of a loop four wait until the first are used, and memory is idle.
"""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.ir_helpers import find
from legato.core.mlir import ir
from legato.dialects.module import Module
from legato.dialects.tir.markers import LOADS_TOGETHER
from legato.passes.pipeline.base import ModulePass, PassContext

LEAST_BLOCKS = "nvvm.minctasm"     # of a multiprocessor: .minnctapersm of PTX


@dataclass(frozen=True)
class AskRegisters(ModulePass):
    """Asks for one block on a multiprocessor, at least, in kernels with a loop of ``tir.loads_together``, and takes the mark from the
    loop: without a number the assembler chooses its own."""

    name: ClassVar[str] = "tir-ask-registers"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context:
            one = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
            for kernel in find(module.operation, "gpu.func"):
                marked = [loop for loop in find(kernel, "scf.for") if LOADS_TOGETHER in loop.attributes]
                for loop in marked:
                    del loop.attributes[LOADS_TOGETHER]
                if marked:
                    kernel.attributes[LEAST_BLOCKS] = one

"""tir-tie-outputs: results of kernels are computed in their outputs again, where a rewrite has put a new tensor in the output's place."""
from dataclasses import dataclass
from typing import ClassVar

from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding


@dataclass(frozen=True)
class TieOutputs(ModulePass):
    """Results of kernels that start from a tensor.empty start from their outputs instead.

    To be run after linalg-fuse-elementwise-ops, which puts a tensor.empty in the place of an output that is not read. Results that are
    not made from a tensor.empty, such as views of inputs, stay: tir-tie-results ties those before bufferization.
    """

    name: ClassVar[str] = "tir-tie-outputs"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in tir.prim_funcs(module.module):
                if not kernel.is_external:
                    tir.tie_outputs(kernel)

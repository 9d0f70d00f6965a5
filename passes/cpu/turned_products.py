"""tir-turned-products: products of rows by the rows of a matrix of the run, in tiles of sums along both."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from legato.analysis.structured.pair_product import PairProductForm
from legato.analysis.structured.run_product import RunProduct
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.dot_tiles import DotTiles
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding


@dataclass(frozen=True)
class TurnedProducts(ModulePass):
    """Turns products of matrices of f32, and of batches of them, of which both are summed along their rows into loops, where that takes
    less time than a transpose of the right one, which ``tir-convert-kernel-layout`` leaves out there. Kernels with other ops than
    elementwise ones after the product are left to tir-schedule."""

    name: ClassVar[str] = "tir-turned-products"
    rounding: ClassVar[Rounding] = REORDERED
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose registers and caches the loops are for")

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                structured = context.kernels.of(kernel)
                sizes = RunProduct.of(structured.contraction)
                if sizes is None or not sizes.sums_rows(machine):
                    continue
                form = PairProductForm.of(structured, structured.contraction, ir.F32Type, packed=True)
                if form is None:
                    continue
                tensors = [form.left, form.right, *(value for value, _ in form.reads)]
                into_loops(kernel, form.contraction.op.location, tensors, partial(build_loops, form, machine))
                context.kernels.drop(kernel)


def build_loops(form: PairProductForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    DotTiles(form, machine, buffers).build()

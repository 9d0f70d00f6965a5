"""tir-sum-rows: products of one row by a large matrix of the run as sums of the matrix's rows."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.pair_product import PairProductForm
from legato.analysis.structured.run_product import RunProduct
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.summed_rows import SummedRows
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee


@dataclass(frozen=True)
class SumRows(ModulePass):
    """Turns products of f32, of one row, into loops, where that takes less time than tiles of columns. Kernels with other ops than
    elementwise ones after the product, and those of constant matrices, are left to tir-schedule."""

    name: ClassVar[str] = "tir-sum-rows"
    rounding: ClassVar[Rounding] = REORDERED
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose registers and caches the loops are for")

    def run(self, module: Module, context: PassContext) -> None:
        machine, calls = context.cpu(self.target), calls_by_callee(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                structured = context.kernels.of(kernel)
                sizes = RunProduct.of(structured.contraction)
                if sizes is None or not sizes.adds_rows(machine):
                    continue
                form = single_row(structured)
                if form is None or are_constant(ir.BlockArgument(form.right), calls.get(kernel.name.value, [])):
                    continue
                tensors = [form.left, form.right, *(value for value, _ in form.reads)]
                into_loops(kernel, form.contraction.op.location, tensors, partial(build_loops, form, machine))
                context.kernels.drop(kernel)


def single_row(kernel: StructuredKernel) -> PairProductForm | None:
    """A product of one row by a matrix that is an argument of the kernel."""
    form = PairProductForm.of(kernel, kernel.contraction, ir.F32Type, single=True)
    return form if form is not None and not form.outer and isinstance(form.right, ir.BlockArgument) else None


def build_loops(form: PairProductForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    SummedRows(form, machine, buffers).build()

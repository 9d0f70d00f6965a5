"""tir-pair-products: products of two factors of bf16 that are both computed at run time, by instructions on pairs in the lanes of vectors
(AVX512-BF16)."""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from legato.analysis.structured.pair_product import PairProductForm
from legato.core.interfaces import CpuMachine
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import into_loops
from legato.passes.cpu.matrices.panel_products import PanelProducts
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.structured.group_factors import packs_pairs
from legato.passes.structured.pack_weights import calls_by_callee


@dataclass(frozen=True)
class PairProducts(ModulePass):
    """Turns products that ``tir-widen-factors`` left in bf16 for it into loops, which put the factor with the columns into pairs of rows.
    Kernels with other ops than elementwise ones after the product are left to tir-schedule."""

    name: ClassVar[str] = "tir-pair-products"
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may multiply pairs of bf16")

    def run(self, module: Module, context: PassContext) -> None:
        machine, calls = context.cpu(self.target), calls_by_callee(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                form = PairProductForm.of(context.kernels.of(kernel), context.kernels.of(kernel).contraction)
                sites = calls.get(kernel.name.value, [])
                if form is None or not packs_pairs(form.contraction.heart, form.contraction, sites, machine):
                    continue
                tensors = [form.left, form.right, *(value for value, _ in form.reads)]
                into_loops(kernel, form.contraction.op.location, tensors, partial(build_loops, form, machine))
                context.kernels.drop(kernel)


def build_loops(form: PairProductForm, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    PanelProducts(form, machine, buffers).build()

"""tir-copy-panels: products of many rows by a large matrix of the run, of which panels of columns are copied."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.run_product import MANY, RunProduct
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.copied_panels import CopiedPanels
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import form_for_rows, into_loops
from legato.passes.cpu.row_product import RowProduct, product_of_matrices
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import REORDERED, Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

SUFFIX = "_in_panels"


@dataclass(frozen=True)
class CopyPanels(ModulePass):
    """Turns products of two matrices of f32 into loops that copy panels of the right one, where that takes less time than to read it as
    it lies, or to transpose it. A kernel of an unknown number of rows gets a form for many, as by ``tir-split-many-rows``. Constant
    factors are packed when they are compiled (``tir-pack-weights``). Kernels with other ops than elementwise ones after the product are
    left to tir-schedule."""

    name: ClassVar[str] = "tir-copy-panels"
    rounding: ClassVar[Rounding] = REORDERED
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose registers and caches the loops are for")

    def run(self, module: Module, context: PassContext) -> None:
        machine, calls = context.cpu(self.target), calls_by_callee(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                structured = context.kernels.of(kernel)
                sizes = RunProduct.of(structured.contraction)
                many = sizes is not None and sizes.rows is None and not sizes.turned
                if sizes is None or not (replace(sizes, rows=MANY) if many else sizes).copies_panels(machine):
                    continue
                if not is_of_run(structured, calls.get(kernel.name.value, [])):
                    continue
                multiply(form_for_rows(kernel, SUFFIX, MANY) if many else kernel, sizes.turned, machine)
                context.kernels.drop(kernel)


def is_of_run(kernel: StructuredKernel, calls: Sequence[ir.Operation]) -> bool:
    """Whether a kernel is a product of two matrices of f32, the right one of which is not a constant of all calls."""
    found = product_of_matrices(kernel, packed=True)
    if found is None:
        return False
    _, right = found
    return not (isinstance(right, ir.BlockArgument) and are_constant(ir.BlockArgument(right), calls))


def multiply(function: func.FuncOp, turned: bool, machine: CpuMachine) -> None:
    """Replaces the ops of a kernel by loops. ``turned``: whether the depth lies along the rows of the right factor, too."""
    product, right = present(product_of_matrices(StructuredKernel(function), packed=True))
    tensors = [product.left, right, *(value for value, _ in product.form.reads)]
    build = partial(build_loops, product, right, turned, machine)
    into_loops(function, product.form.result.owner.location, tensors, build)


def build_loops(product: RowProduct, right: ir.Value, turned: bool, machine: CpuMachine, buffers: Buffers) -> None:
    """Builds the loops of one kernel at the insertion point."""
    CopiedPanels(product, right, turned, machine, buffers).build()

"""tir-split-many-rows: products of f32 by constant weights, of an unknown number of rows, get a form in parts of bf16 for many of them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.structured import StructuredKernel
from legato.analysis.structured.contraction import VIEWS
from legato.core.interfaces import CpuMachine, PackingLike
from legato.core.ir_helpers import present
from legato.core.mlir import func, ir
from legato.core.views import root_of
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.kernel_loops import form_for_rows
from legato.passes.cpu.matrices.open_cut import OpenCut
from legato.passes.cpu.matrices.packing import COLUMNS, STEP, PartsPacking
from legato.passes.cpu.matrices.products import SIDE
from legato.passes.cpu.row_product import RowProduct, is_weight, product_of_matrices
from legato.passes.cpu.split_products import LEAST_ROWS, are_splittable, multiply_parts
from legato.passes.graph.functions import Constants, has_one_use
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee, packed_shape

SUFFIX = "_many_rows"


@dataclass(frozen=True)
class SplitManyRows(ModulePass):
    """Gives a kernel a form, marked with the kernel and the rows it is for (``tir.form_of``, ``tir.rows``), whose loops are those that
    ``tir-split-products`` builds. Nothing calls it: ``tir-choose-by-rows`` puts it into the kernel. Both read one weight, in blocks of
    columns as ``tir-pack-weights`` packs it; the kernel of a weight that is packed otherwise is left as it is. With ``surely`` a form is
    for so many rows that it surely takes less time."""

    name: ClassVar[str] = "tir-split-many-rows"
    rounding: ClassVar[Rounding] = Rounding(relative=2.0**-20)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may have AMX")
    parts: int = option(3, "of bf16 that numbers are split into: 3 for all of their 24 bits, 2 for 16")
    surely: bool = option(False, "only for so many rows that products surely take less time in parts")

    def entitlement(self, context: PassContext) -> Rounding:
        return Rounding(relative=2.0**-15) if self.parts == 2 else self.rounding

    def run(self, module: Module, context: PassContext) -> None:
        target, machine = context.target(self.target), context.cpu(self.target)
        if not machine.has("amx-bf16"):
            return
        calls, constants = calls_by_callee(module), Constants(module)
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                structured = context.kernels.of(kernel)
                found, sites = many_rows(structured), calls.get(kernel.name.value, [])
                if found is None or not are_constant(found[1], sites):
                    continue
                (product, weight), packing = found, target.packing(structured)
                if packing is None or not is_in_columns(packing, product):
                    continue
                cut = OpenCut.of(PartsPacking(product.depth, product.columns, self.parts, at_run_time=True), machine)
                least = cut.least_rows() if self.surely else LEAST_ROWS
                if least is not None and are_splittable(weight, sites, constants):
                    add_form(kernel, cut, least, packing, machine)


def many_rows(kernel: StructuredKernel) -> tuple[RowProduct, ir.BlockArgument] | None:
    """The product of a kernel of which the number of rows is unknown, and its weight, which the kernel may read as a matrix."""
    found = product_of_matrices(kernel, views=True)
    if found is None or found[0].rows is not None:
        return None
    product, factor = found
    weight = root_of(factor, VIEWS)
    return (product, ir.BlockArgument(weight)) if is_weight(weight) and has_one_use(factor) else None


def is_in_columns(packing: PackingLike, product: RowProduct) -> bool:
    """Whether a weight is packed in blocks of columns that are whole panels, and its depth is whole steps."""
    in_order = packing.order == (0, 1) and packing.outer == (1, 0) and packing.depth == 1 and packing.trailing == 0
    return in_order and packing.tile % COLUMNS == 0 and product.depth % STEP == 0 and product.columns >= SIDE


def add_form(kernel: func.FuncOp, cut: OpenCut, least: int, packing: PackingLike, machine: CpuMachine) -> None:
    """Adds a form for at least so many rows to a kernel."""
    form = form_for_rows(kernel, SUFFIX, least)
    product, weight = present(many_rows(StructuredKernel(form)))
    multiply_parts(form, product, weight, cut, packed_shape(packing), machine)

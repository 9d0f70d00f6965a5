"""tir-strassen-products: products of f32 by constant weights, by Strassen's algorithm, of seven products of quarters instead of eight."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from legato.analysis.structured import StructuredKernel
from legato.core.interfaces import CpuMachine, PackingLike
from legato.core.ir_helpers import present
from legato.core.mlir import bufferization, func, ir
from legato.core.weights import release_pages
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import form_for_rows, hold_result, into_loops, retype
from legato.passes.cpu.row_product import RowProduct, is_weight, product_of_matrices
from legato.passes.cpu.strassen.balance import is_balanced
from legato.passes.cpu.strassen.loops import StrassenLoops
from legato.passes.cpu.strassen.tiles import SIDES, VECTORS, StrassenTiles, suits
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee, packed_shape, rewrite_call

SUFFIX = "_in_sums"


@dataclass(frozen=True)
class StrassenProducts(ModulePass):
    """Turns products of f32 of many rows into loops, where that surely takes less time. A kernel of an unknown number of rows gets a form
    for many, as by ``tir-split-many-rows``. Kernels with other ops than elementwise ones after the product, and weights of which a row or
    a column is much greater than the one that it would be added to, are left to tir-schedule."""

    name: ClassVar[str] = "tir-strassen-products"
    rounding: ClassVar[Rounding] = Rounding(relative=2.0**-17)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose registers and caches the loops are for")

    def run(self, module: Module, context: PassContext) -> None:
        target, machine = context.target(self.target), context.cpu(self.target)
        if not suits(machine):
            return
        calls, constants, packed = calls_by_callee(module), Constants(module), dict[Any, str]()
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                structured, sites = context.kernels.of(kernel), calls.get(kernel.name.value, [])
                found = product_of_matrices(structured, packed=True)
                if found is None or not is_weight(found[1]) or (packing := target.packing(structured)) is None:
                    continue
                product, weight = found[0], ir.BlockArgument(found[1])
                if product.rows is not None:
                    packing = in_pairs(packing, machine)
                tiles = StrassenTiles.best(product.rows, product.depth, packing, machine)
                if tiles is None or not are_constant(weight, sites) or not are_summable(packing, tiles, sites, constants):
                    continue
                if product.rows is None:
                    add_form(kernel, tiles, packing)
                    continue
                multiply(kernel, product, weight, tiles, packed_shape(packing))
                for call in sites:
                    rewrite_call(call, packing, constants, packed)
                context.kernels.drop(kernel)


def in_pairs(packing: PackingLike, machine: CpuMachine) -> PackingLike:
    """A packing whose panels are pairs of tiles, of which there may be any number."""
    return replace(packing, tile=SIDES * VECTORS * machine.lanes(32))


def add_form(kernel: func.FuncOp, tiles: StrassenTiles, packing: PackingLike) -> None:
    """Adds a form for enough rows to a kernel of an unknown number of them."""
    form = form_for_rows(kernel, SUFFIX, present(tiles.least_rows()))
    product, weight = present(product_of_matrices(StructuredKernel(form), packed=True))
    multiply(form, product, ir.BlockArgument(weight), tiles, packed_shape(packing))


def are_summable(packing: PackingLike, tiles: StrassenTiles, sites: Sequence[ir.Operation], constants: Constants) -> bool:
    """Whether all calls of a kernel give it a weight whose rows and columns may be added up."""
    for call in sites:
        array = present(constants.array(call.operands[packing.argument]))
        balanced = is_balanced(array.reshape(packing.shape).transpose(packing.order), tiles.width, tiles.blocks)
        release_pages(array)
        if not balanced:
            return False
    return True


def multiply(function: func.FuncOp, product: RowProduct, weight: ir.BlockArgument, tiles: StrassenTiles, shape: Sequence[int]) -> None:
    """Replaces the ops of a kernel by loops. ``shape``: of the packed weight that they read."""
    type_ = ir.MemRefType.get(shape, ir.F32Type.get())

    def build(buffers: Buffers) -> None:
        StrassenLoops(product, tiles, buffers, bufferization.ToBufferOp(type_, weight, read_only=True).result).build()

    held = product.form.in_place
    into_loops(function, product.form.result.owner.location, [product.left, *(value for value, _ in product.form.reads)], build)
    retype(function, weight, shape, type_.element_type)
    hold_result(function, held)

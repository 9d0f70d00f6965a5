"""tir-split-products: products of f32 by constant weights as products of bf16, by instructions on matrices (AMX), with f32's precision."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from legato.analysis.structured import ConvolutionForm, StructuredKernel
from legato.analysis.structured.elements import Term
from legato.analysis.structured.groups import SIDE
from legato.core.dtypes import mlir_type
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import present
from legato.core.mlir import bufferization, func, ir
from legato.core.vector_loops import Size, plus, quotient, remainder, times
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import give_transformed, hold_result, into_loops, retype
from legato.passes.cpu.matrices.depth_cut import DepthCut
from legato.passes.cpu.matrices.depth_products import DepthProducts
from legato.passes.cpu.matrices.magnitudes import LARGEST, LEAST
from legato.passes.cpu.matrices.open_cut import OpenCut
from legato.passes.cpu.matrices.packing import AT_ONCE, STEP, PartsPacking
from legato.passes.cpu.matrices.part_products import PartProducts
from legato.passes.cpu.matrices.product_cut import ProductCut
from legato.passes.cpu.matrices.product_times import is_near
from legato.passes.cpu.row_product import RowProduct, is_weight, product_of_matrices
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

LEAST_ROWS = 64     # fewer take as long as the weight takes to be read
SAMPLE = 16         # rows of a weight in which a column mostly has a number that is not small


@dataclass(frozen=True)
class SplitProducts(ModulePass):
    """Turns products of f32 with many rows, and convolutions whose windows lie inside of images, into loops on parts of numbers. Kernels
    with other ops than elementwise ones after the product are left to tir-schedule, and with ``surely`` products that may take longer in
    parts: of few rows, most of all."""

    name: ClassVar[str] = "tir-split-products"
    rounding: ClassVar[Rounding] = Rounding(relative=2.0**-20)
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may have AMX")
    parts: int = option(3, "of bf16 that numbers are split into: 3 for all of their 24 bits, 2 for 16")
    surely: bool = option(False, "only products that surely take less time in parts")

    def entitlement(self, context: PassContext) -> Rounding:
        return Rounding(relative=2.0**-15) if self.parts == 2 else self.rounding

    def run(self, module: Module, context: PassContext) -> None:
        machine = context.cpu(self.target)
        if not machine.has("amx-bf16"):
            return
        calls, constants, made = calls_by_callee(module), Constants(module), dict[Any, str]()
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = product_of(context.kernels.of(kernel))
                sites = calls.get(kernel.name.value, [])
                if found is None or not are_constant(found[1], sites):
                    continue
                product, weight = found
                cut = cut_of(product, self.parts, machine)
                if self.surely and not pays(product, cut):
                    continue
                if not are_splittable(weight, sites, constants):
                    continue
                packing = cut.packing
                multiply_parts(kernel, product, weight, cut, packing.shape, machine)
                suffix = f"parts{self.parts}"
                for call in sites:
                    give_transformed(call, weight.arg_number, constants, made, suffix, packing.shape, packing.dtype, packing.pack)
                context.kernels.drop(kernel)


def product_of(kernel: StructuredKernel) -> tuple[RowProduct, ir.BlockArgument] | None:
    """The product of a kernel, and its weight; None where it has none of enough rows."""
    found = product_of_matrices(kernel) or product_of_windows(ConvolutionForm.of(kernel, kernel.contraction))
    if found is None:
        return None
    product, weight = found
    enough = (product.each if product.rows is None else product.rows) >= LEAST_ROWS and product.columns >= SIDE and product.depth >= STEP
    return (product, ir.BlockArgument(weight)) if enough and is_weight(weight) else None


def product_of_windows(form: ConvolutionForm | None) -> tuple[RowProduct, ir.Value] | None:
    """A convolution in images of known size, all of whose windows lie inside. The rows of a window are runs of neighbours in memory, which
    have to be whole steps where there are several."""
    if form is None or form.depth is not None:
        return None
    high, wide, channels, features = form.filter_shape
    _, height, width, _ = form.result_shape
    sides, (down, right), (apart, beside) = form.source_shape[1:3], form.strides, form.dilations
    known = min([*sides, channels]) >= 0 and tuple(form.begins) == (0, 0) and form.filter.type.element_type == ir.F32Type.get()
    run, of_row = wide * channels, sides[1] * channels
    in_runs = (wide == 1 or beside == 1) and (high == 1 or run % STEP == 0)
    inside = (height - 1) * down + (high - 1) * apart < sides[0] and (width - 1) * right + wide <= sides[1]
    if not known or not in_runs or not inside:
        return None

    def position(row: Size) -> tuple[Size, Size, Size]:
        image, place = quotient(row, height * width), remainder(row, height * width)
        return image, quotient(place, width), remainder(place, width)

    def source(row: Size, column: Size) -> Size:
        image, y, x = position(row)
        lines = plus(times(image, sides[0]), times(y, down))
        if high > 1:
            lines, column = plus(lines, times(quotient(column, run), apart)), remainder(column, run)
        return plus(plus(times(lines, of_row), times(x, right * channels)), column)

    def places(row: Size) -> dict[Term, Size]:
        return dict(zip("nhw", position(row)))

    all_rows = (high, wide, down, right) == (1, 1, 1, 1) and (height, width) == tuple(sides)
    loops = ("n", "h", "w"), (height, width)
    product = RowProduct(form, features, places, "f", form.source, height * width, high * run, None if all_rows else source, loops)
    return product, form.filter


def cut_of(product: RowProduct, parts: int, machine: CpuMachine) -> ProductCut | DepthCut | OpenCut:
    """How a product is computed. A weight that comes from memory is split when the kernel runs: its parts are longer than its numbers."""
    packing = PartsPacking(product.depth, product.columns, parts)
    packing = packing if is_near(packing, machine) else replace(packing, at_run_time=True)
    if product.rows is None:
        return OpenCut.of(packing, machine)
    cut = ProductCut.best(product.rows, packing, machine)
    deep = DepthCut.of(product.rows, packing, cut.threads, machine)
    return min((cut, deep), key=lambda one: one.time + one.time_of_others) if deep is not None else cut


def pays(product: RowProduct, cut: ProductCut | DepthCut | OpenCut) -> bool:
    """Whether a product surely takes less time in parts; one of an unknown number of rows may take as long where there are few."""
    if not isinstance(cut, OpenCut):
        return cut.pays
    return cut.compared(product.each) <= 1 and cut.least_rows(product.each) is not None


def are_splittable(weight: ir.BlockArgument, sites: Sequence[ir.Operation], constants: Constants) -> bool:
    """Whether all calls of a kernel give it a weight that can be split."""
    return all(is_splittable(present(constants.array(call.operands[weight.arg_number]))) for call in sites)


def is_splittable(weight: np.ndarray) -> bool:
    """Whether no number is too great for products of parts, and those of each column not so small that their products lose some."""
    if weight.size == 0:
        return False
    numbers, rows = weight.ravel(order="K"), weight.reshape(-1, weight.shape[-1])   # K: as in memory, so that nothing is copied
    parts = (numbers[first:first + AT_ONCE] for first in range(0, numbers.size, AT_ONCE))    # each stays in a cache
    if not all(-LARGEST < part.min() and part.max() < LARGEST for part in parts):
        return False
    small = np.abs(rows[:SAMPLE]).max(axis=0) < LEAST
    greatest = np.abs(rows[:, small]).max(axis=0)
    return bool(((greatest == 0) | (greatest >= LEAST)).all())


def multiply_parts(function: func.FuncOp, product: RowProduct, weight: ir.BlockArgument, cut: ProductCut | DepthCut | OpenCut,
                   shape: Sequence[int], machine: CpuMachine) -> None:
    """Replaces the ops of a kernel by loops. ``shape``: of the weight that they read."""
    type_ = ir.MemRefType.get(shape, mlir_type(cut.packing.dtype))

    def build(buffers: Buffers) -> None:
        products = DepthProducts if isinstance(cut, DepthCut) else PartProducts
        products(product, cut, machine, buffers, bufferization.ToBufferOp(type_, weight, read_only=True).result).build()

    held = product.form.in_place
    into_loops(function, product.form.result.owner.location, [product.left, *(value for value, _ in product.form.reads)], build)
    retype(function, weight, shape, type_.element_type)
    hold_result(function, held)

"""tir-matrix-convolutions: convolutions of bf16 as products of pairs, where the CPU has instructions for these: on matrices (AMX), or in
the lanes of vectors (AVX512-BF16). Those of f32 are rounded to bf16 where the target's ``matmul-precision`` says so.

First the image is copied, padded and rounded, so that the inputs of neighbouring positions follow each other for each tap of the window:
one after the other through all rows, since a row of the copy is as long as one of positions. What is computed for the columns that this
adds at the end of each row is not stored. Where windows are some steps apart, the copy consists of phases, one for each place in a step.
Then tiles of positions are multiplied with panels of features, tap by tap. Of few channels, a position has all that its window reads in a
row. Vectors take tiles of positions of one row, and nothing is computed for the ends of rows. Groups, which only vectors take, are copied
apart, and multiplied one after the other. Of images of unknown sizes, which only matrices take, the windows of a tile are copied.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from legato.analysis.structured import ConvolutionForm, StructuredKernel
from legato.analysis.structured.contraction import VIEWS
from legato.analysis.structured.convolution import fills_lanes
from legato.analysis.structured.grouped_convolution import GroupedConvolutionForm, ImageConvolutionForm, image_convolution
from legato.analysis.structured.window import are_known
from legato.core.interfaces import CpuMachine
from legato.core.ir_helpers import defining_op, present
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.direct.pairs import PairPlan
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.fuse_pointwise_depthwise import calls_to_merge
from legato.passes.cpu.kernel_loops import give_transformed, hold_result, into_loops, retype
from legato.passes.cpu.matrices.concats import ConcatCalls
from legato.passes.cpu.matrices.maxima import MaximaCalls
from legato.passes.cpu.matrices.narrow import ConvolutionCalls, narrow_calls, read_narrow
from legato.passes.cpu.matrices.on_matrices import MatrixConvolution, matrix_tiles
from legato.passes.cpu.matrices.on_vectors import VectorConvolution, vector_tiles
from legato.passes.cpu.matrices.open_convolution import OpenConvolution, open_tiles
from legato.passes.cpu.matrices.packing import FEW, overlapping_shape, pack_filters, packed_shape, read_shape
from legato.passes.cpu.matrices.rounding import RoundingCalls
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

LEAST = 8       # elements that a step sums: of fewer, a matrix is mostly padding
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class MatrixConvolutions(ModulePass):
    """Turns convolutions of images with constant filters into products of matrices of bf16: of images that were widened from bf16, and with
    ``matmul-precision=bf16`` of all. Others, those of few features, or with little to sum, and on vectors those of images of unknown sizes,
    or that Winograd's algorithm computes faster, are left as they are. What only such convolutions read, as images or to be added to
    results, is bf16, too, where such convolutions make it; with ``matmul-precision=bf16`` also where depthwise ones and elementwise kernels
    do. Those that ``tir-fuse-pointwise-depthwise`` merges with depthwise ones are given images of bf16, and left to it."""

    name: ClassVar[str] = "tir-matrix-convolutions"
    rounding: ClassVar[Rounding] = Rounding(relative=2.0**-8)   # of bf16
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "the target whose CPU may multiply bf16 faster")

    def run(self, module: Module, context: PassContext) -> None:
        target, machine = context.target(self.target), context.cpu(self.target)
        if not machine.multiplies_pairs:
            return
        calls, constants = calls_by_callee(module), Constants(module)
        kernels = {kernel.name.value: context.kernels.of(kernel) for kernel in tir.prim_funcs(module.module) if not kernel.is_external}
        exact = {name for name, kernel in kernels.items() if makes_bf16(kernel)}
        widening = {name for name in exact if only_widens(kernels[name])}
        made: dict[Any, str] = {}
        merging = calls_to_merge(module, context.kernels, machine)
        with module.context, ir.Location.unknown():
            found: list[ConvolutionCalls] = []
            others: list[RoundingCalls | MaximaCalls | ConcatCalls] = []
            for kernel in tir.schedulable(module.module):
                form, sites = image_convolution(context.kernels.of(kernel)), calls.get(kernel.name.value, [])
                if machine.rounds_factors and kernel.name.value not in widening:    # whose calls may end
                    made_of = (kind.of(context.kernels.of(kernel), sites) for kind in (RoundingCalls, MaximaCalls, ConcatCalls))
                    others += [one for one in made_of if one is not None]
                if form is None or not is_worth_it(form, machine) or not are_constant(form.filter, sites):
                    continue
                if not machine.has("amx-bf16") and target.winograd(context.kernels.of(kernel)) is not None:
                    continue
                one = ConvolutionCalls(form, sites, all(call in merging for call in sites))
                is_narrow = form.filter.type.element_type == ir.BF16Type.get()
                if machine.rounds_factors or (is_narrow and (reads_bf16(form) or makers(one, exact))):
                    found.append(one)
            narrow = narrow_calls([*found, *others], None if machine.rounds_factors else exact)
            convolutions = [one.kernel for one in narrow if isinstance(one.kernel, ConvolutionCalls)]
            read_before_widening(convolutions, widening)
            for one in narrow:
                one.apply()
                context.kernels.drop(one.kernel.function)
            for one in convolutions:
                if one.merges and reads_bf16(one.form):
                    continue
                products, place = products_of(one.form, machine), one.form.filter.arg_number
                rewrite_kernel(one.form, products.shape, products.build)
                for call in one.calls:
                    give_transformed(call, place, constants, made, products.name, products.shape, BF16, products.pack)


@dataclass(frozen=True)
class PackedProducts:
    """How a convolution is computed by pairs: the ``shape`` of its filters, as ``pack`` orders them, the ``name`` of that order, and what
    builds its loops from the buffers and the filters."""

    name: str
    shape: list[int]
    pack: Callable[[np.ndarray, np.ndarray], None]
    build: Callable[[Buffers, ir.Value], None]


def products_of(form: ImageConvolutionForm, machine: CpuMachine) -> PackedProducts:
    """How a convolution is computed: of images in place, or of copies, on matrices or on vectors."""
    groups = form.groups
    plan = pair_plan(form, machine)
    if plan is not None:
        return PackedProducts(f"pairs{groups}.bf16", plan.packed_shape, plan.pack, plan.build)
    if isinstance(form, ConvolutionForm) and min(form.source_shape[1:3]) < 0:
        tiles, read = open_tiles(form), read_shape(form.filter_shape, form.dilations, groups)
        return PackedProducts("read.bf16", packed_shape(read, tiles, groups), partial(pack_filters, shape=read, groups=groups),
                              lambda buffers, filters: OpenConvolution(form, machine, tiles, buffers, filters).build())
    read = (overlapping_shape if on_matrices(form, machine) else read_shape)(form.filter_shape, form.dilations, groups)
    tiles = matrix_tiles(form) if on_matrices(form, machine) else vector_tiles(form, machine)
    build = MatrixConvolution if on_matrices(form, machine) else VectorConvolution
    return PackedProducts("bf16" if groups == 1 else f"groups{groups}.bf16", packed_shape(read, tiles, groups),
                        partial(pack_filters, shape=read, groups=groups),
                        lambda buffers, filters: build(form, machine, tiles, buffers, filters).build())


def on_matrices(form: ImageConvolutionForm, machine: CpuMachine) -> bool:
    """Whether matrices multiply, and not the lanes of vectors."""
    return isinstance(form, ConvolutionForm) and machine.has("amx-bf16")


def makes_bf16(kernel: StructuredKernel) -> bool:
    """Whether a kernel's result is f32 that was widened from bf16: rounding gives the same numbers again."""
    results = list(kernel.ops[-1].operands)
    last = defining_op(results[0]) if len(results) == 1 else None
    while last is not None and last.name in VIEWS:
        last = defining_op(last.operands[0])
    op = None if last is None else kernel.op(last)
    yielded = None if op is None or not op.body or len(op.op.results) != 1 else defining_op(op.body[-1].operands[0])
    return yielded is not None and yielded.name == "arith.extf" and yielded.operands[0].type == ir.BF16Type.get()


def only_widens(kernel: StructuredKernel) -> bool:
    """Whether such a kernel does nothing else to its argument, element by element."""
    given, *others = [argument.type for argument in kernel.function.arguments]
    ops = kernel.structured
    if not isinstance(given, ir.RankedTensorType) or len(others) != 1 or given.shape != others[0].shape or len(ops) != 1:
        return False
    return ops[0].body_names == ["arith.extf", "linalg.yield"] and ops[0].plain and ops[0].maps[0] == ops[0].maps[1]


def makers(one: ConvolutionCalls, kernels: Collection[str]) -> list[ir.Operation]:
    """The calls of these kernels that make the images of a convolution's calls; none where another one makes an image."""
    if one.image is None:
        return []
    made = [defining_op(call.operands[one.image]) for call in one.calls]
    found = [op for op in made if op is not None and op.name == "func.call" and op.attributes["callee"].value in kernels]
    return found if len(found) == len(made) else []


def read_before_widening(found: Sequence[ConvolutionCalls], kernels: Collection[str]) -> None:
    """Lets convolutions read their images before these kernels widen them, whose calls end where nobody else reads them."""
    widened = {}
    for one in found:
        if image := makers(one, kernels):
            read_narrow(one, present(one.image))
            for call, maker in zip(one.calls, image, strict=True):
                call.operands[present(one.image)] = maker.operands[0]
                widened[maker] = None
    for maker in widened:
        if next(iter(maker.results[0].uses), None) is None:
            maker.erase()


def reads_bf16(form: ImageConvolutionForm) -> bool:
    """Whether images are bf16 in memory."""
    return form.source.type.element_type == ir.BF16Type.get()


def pair_plan(form: ImageConvolutionForm, machine: CpuMachine) -> PairPlan | None:
    """The plan of a convolution in groups that reads its images in place: where they are bf16, or narrow groups are rounded as they are
    read. None for another one."""
    plan = PairPlan.of(form.direct, machine) if isinstance(form, GroupedConvolutionForm) else None
    return plan if plan is not None and (plan.is_narrow or reads_bf16(form)) else None


def rewrite_kernel(form: ImageConvolutionForm, shape: list[int], build: Callable[[Buffers, ir.Value], None]) -> None:
    """Replaces the structured ops of one kernel by loops, which ``build`` builds, and its filter by the packed one of this shape."""
    element, filters = ir.BF16Type.get(), form.filter     # an operand of an op that is erased

    def build_loops(buffers: Buffers) -> None:
        build(buffers, bufferization.ToBufferOp(ir.MemRefType.get(shape, element), filters, read_only=True).result)

    held = form.in_place if isinstance(form, ConvolutionForm) else []
    into_loops(form.kernel.function, form.op.location, [form.source, *form.memory], build_loops)
    retype(form.kernel.function, filters, shape, element)
    hold_result(form.kernel.function, held)


def is_worth_it(form: ImageConvolutionForm, machine: CpuMachine) -> bool:
    """Whether the images are no volumes, and matrices, or vectors, are well filled; vectors need to know all sizes but their number."""
    if form.depth is not None or (form.groups > 1 and machine.has("amx-bf16")):
        return False
    _, rows, columns, features = form.result_shape
    if isinstance(form, GroupedConvolutionForm) and not are_known(form.axes):
        return False
    if isinstance(form, GroupedConvolutionForm) and (plan := PairPlan.of(form.direct, machine)) is not None and plan.is_narrow:
        return True
    summed = read_shape(form.filter_shape, form.dilations, form.groups)[2]
    reads = prod(form.filter_shape[:2]) / prod(form.strides)
    enough = fills_lanes(form.groups * features, form.groups, reads, machine.lanes(32)) and summed >= LEAST
    if min(form.source_shape[1:3]) < 0:
        return enough and on_matrices(form, machine)
    return enough and (rows * columns >= FEW or not machine.has("amx-bf16"))

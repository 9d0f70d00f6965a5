"""tir-winograd-convolutions: convolutions of 3 x 3 and stride 1, in the slices of volumes and in groups too, by Winograd's algorithm, with
fewer multiplications.
"""
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from legato.analysis.structured.grouped_convolution import ImageConvolutionForm, winograd_convolution
from legato.core.dtypes import mlir_type
from legato.core.interfaces import WinogradTilesLike
from legato.core.ir_helpers import present
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.matrices.packing import PAIR
from legato.passes.cpu.winograd.blocks import WinogradBlocks
from legato.passes.cpu.winograd.panels import WinogradPanels
from legato.passes.cpu.winograd.transforms import TAPS, WHOLE, bits_left, pack_panels, transform_weights
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee

DTYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16), "i16": np.dtype(np.int16)}
BYTES = -128, 255       # the least and the greatest


@dataclass(frozen=True)
class WinogradConvolutions(ModulePass):
    """Turns convolutions with constant filters into loops over blocks of tiles, of sizes that the target chooses.

    The filters are transformed at compile time, which makes them 16/9 (tiles of 2 x 2) or 4 (of 4 x 4) times as large, or by the kernel,
    where tiles are few and it takes longer to read such ones. Sums are rounded otherwise than by the definition: errors relative to the
    greatest output are up to 1e-5 with tiles of 4 x 4. Where the target lets factors be rounded to bf16 and the CPU multiplies pairs of
    these in lanes, transformed inputs and weights are, in tiles of 2 x 2: the errors are about 1.6 times those of a convolution that rounds
    its factors (5e-3 at most in trials). Where an input is infinite or NaN, other outputs of its tile are NaN too. Kernels that the target
    chooses no sizes for are left as they are. An executable of a target with the option winograd=false, as in llvm{winograd=false}, is
    made without this pass.

    Of bytes in 16 bits sums are exact: all transforms are in integers. Tiles of 4 x 4 leave 26 bits of a sum, so that filters whose sums
    may be greater are transformed in tiles of 2 x 2.
    """

    name: ClassVar[str] = "tir-winograd-convolutions"
    rounding: ClassVar[Rounding] = Rounding(relative=2e-5, specials=False)   # relative to the greatest of 6 x 6 inputs
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "whose sizes of blocks are used")

    def entitlement(self, context: PassContext) -> Rounding:
        machine = context.target(self.target).cpu
        return Rounding(relative=2.0**-7, specials=False) if machine is not None and machine.rounds_factors else self.rounding

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        calls = calls_by_callee(module)
        constants = Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                tiles, sites = target.winograd(found), calls.get(kernel.name.value, [])
                form = winograd_convolution(found)
                if form is None or tiles is None or not are_constant(form.filter, sites):
                    continue
                if tiles.factor == "i16":
                    filters = [present(constants.array(call.operands[form.filter.arg_number])) for call in sites]
                    tiles = next((one for one in (tiles, tiles.narrower) if one is not None and all(fit(f, one) for f in filters)), None)
                    if tiles is None:
                        continue
                packing, place = packing_of(form.filter, tiles), form.filter.arg_number
                rewrite_kernel(form, tiles, packing)
                context.kernels.drop(kernel)
                for call in sites:
                    give_transformed(call, place, constants, made, packing.suffix, packing.shape, packing.dtype, packing.work)


@dataclass(frozen=True)
class FilterPacking:
    """How a kernel reads filters: ``work(filters, result)`` writes them to an array of this shape and type; ``suffix``: of its name."""

    shape: list[int]
    dtype: np.dtype
    suffix: str
    work: Callable[[np.ndarray, np.ndarray], None]


def packing_of(weights: ir.Value, tiles: WinogradTilesLike) -> FilterPacking:
    """The filters transformed, or in panels, where the kernel transforms them."""
    *depth, _, _, channels, features = weights.type.shape
    panel, pair = tiles.vectors * tiles.lanes, 1 if tiles.factor == "f32" else PAIR
    panels, steps = -(-features // panel), -(-prod(depth) * channels // pair)
    if tiles.order == "panels":
        return FilterPacking([panels, steps * TAPS ** 2 * panel], DTYPES["f32"], "panels", partial(pack_panels, panel=panel))
    work = partial(transform_weights, outputs=tiles.outputs, panel=panel, by_points=tiles.order == "points", pair=pair,
                   whole=tiles.factor == "i16")
    shape = [panels * (tiles.outputs + TAPS - 1) ** 2, steps * panel * pair]
    kind = "points.winograd" if tiles.order == "points" else "winograd"
    return FilterPacking(shape, DTYPES[tiles.factor], kind if tiles.factor == "f32" else f"{kind}.{tiles.factor}", work)


def fit(filters: np.ndarray, tiles: WinogradTilesLike) -> bool:
    """Whether the results of a convolution of bytes by filters [..., channels, features] of integers are in the range that is left to them,
    and transformed filters fit in 16 bits."""
    axes, (low, high) = tuple(range(filters.ndim - 1)), BYTES
    positive, negative = (np.sum(part, axis=axes, dtype=np.int64) for part in (np.maximum(filters, 0), np.minimum(filters, 0)))
    result = max((positive * high + negative * low).max(initial=0), -(positive * low + negative * high).min(initial=0))
    each = np.abs(filters.astype(np.int64)).max(initial=0) * max(sum(map(abs, row)) for row in WHOLE[tiles.outputs]) ** 2
    return bool(result < 1 << (bits_left(tiles.outputs) - 1) and each <= np.iinfo(np.int16).max)


def rewrite_kernel(form: ImageConvolutionForm, tiles: WinogradTilesLike, packing: FilterPacking) -> None:
    """Replaces the structured ops of one kernel by loops, and its filter by the packed one."""
    element, filters = mlir_type(packing.dtype), form.filter     # an operand of an op that is erased
    builder = WinogradPanels if tiles.order == "panels" else WinogradBlocks

    def build(buffers: Buffers) -> None:
        packed = bufferization.ToBufferOp(ir.MemRefType.get(packing.shape, element), filters, read_only=True).result
        builder(form, tiles, buffers, packed).build()

    into_loops(form.kernel.function, form.op.location, [form.source, *form.memory], build)
    retype(form.kernel.function, filters, packing.shape, element)

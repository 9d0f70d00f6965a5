"""tir-winograd-convolutions: convolutions of 3 x 3 and stride 1, in the slices of volumes too, by Winograd's algorithm, with fewer
multiplications.
"""
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from legato.analysis.structured import ConvolutionForm
from legato.core.interfaces import WinogradTilesLike
from legato.core.mlir import bufferization, ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.cpu.elements import Buffers
from legato.passes.cpu.kernel_loops import give_transformed, into_loops, retype
from legato.passes.cpu.winograd.blocks import WinogradBlocks
from legato.passes.cpu.winograd.transforms import TAPS, transform_weights
from legato.passes.graph.functions import Constants
from legato.passes.pipeline.base import ModulePass, PassContext, TargetText, option
from legato.passes.pipeline.rounding import Rounding
from legato.passes.structured.group_factors import are_constant
from legato.passes.structured.pack_weights import calls_by_callee


@dataclass(frozen=True)
class WinogradConvolutions(ModulePass):
    """Turns convolutions with constant filters into loops over blocks of tiles, of sizes that the target chooses.

    The filters are transformed at compile time, which makes them 16/9 (tiles of 2 x 2) or 4 (of 4 x 4) times as large. Sums are rounded
    otherwise than by the definition: errors relative to the greatest output are up to 1e-5 with tiles of 4 x 4. Where an input is infinite
    or NaN, other outputs of its tile are NaN too. Kernels that the target chooses no sizes for are left as they are. An executable of a
    target with the option winograd=false, as in llvm{winograd=false}, is made without this pass.
    """

    name: ClassVar[str] = "tir-winograd-convolutions"
    rounding: ClassVar[Rounding] = Rounding(relative=2e-5, specials=False)   # relative to the greatest of 6 x 6 inputs
    keeps_kernels: ClassVar[bool] = True
    target: TargetText = option("llvm", "whose sizes of blocks are used")

    def run(self, module: Module, context: PassContext) -> None:
        target = context.target(self.target)
        calls = calls_by_callee(module)
        constants = Constants(module)
        made: dict[Any, str] = {}
        with module.context, ir.Location.unknown():
            for kernel in tir.schedulable(module.module):
                found = context.kernels.of(kernel)
                tiles, sites = target.winograd(found), calls.get(kernel.name.value, [])
                if found.convolution is None or tiles is None or not are_constant(found.convolution.filter, sites):
                    continue
                place, shape = found.convolution.filter.arg_number, matrices(found.convolution.filter, tiles)
                work = partial(transform_weights, outputs=tiles.outputs, panel=tiles.vectors * tiles.lanes,
                               by_points=not tiles.whole_blocks)
                rewrite_kernel(found.convolution, tiles)
                context.kernels.drop(kernel)
                suffix = "winograd" if tiles.whole_blocks else "points.winograd"    # by their order
                for call in sites:
                    give_transformed(call, place, constants, made, suffix, shape, np.dtype(np.float32), work)


def rewrite_kernel(form: ConvolutionForm, tiles: WinogradTilesLike) -> None:
    """Replaces the structured ops of one kernel by loops, and its filter by the transformed one."""
    shape, f32 = matrices(form.filter, tiles), ir.F32Type.get()

    def build(buffers: Buffers) -> None:
        packed = bufferization.ToBufferOp(ir.MemRefType.get(shape, f32), form.filter, read_only=True).result
        WinogradBlocks(form, tiles, buffers, packed).build()

    into_loops(form.kernel.function, form.op.location, [form.source, *(value for value, _ in form.reads)], build)
    retype(form.kernel.function, form.filter, shape, f32)


def matrices(weights: ir.Value, tiles: WinogradTilesLike) -> list[int]:
    """The shape of the transformed weights."""
    *depth, _, _, channels, features = weights.type.shape
    panel = tiles.vectors * tiles.lanes
    return [-(-features // panel) * (tiles.outputs + TAPS - 1) ** 2, prod(depth) * channels * panel]
